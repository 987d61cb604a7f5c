/** A text as a file that the person keeps where they want. */
import { useState } from "react";
import { ApiError, errorText } from "#ui/api/error.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

export interface SavedText {
  readonly name: string;
  readonly read: () => Promise<string>;
  readonly saved: string;
  readonly notSaved: string;
}

export function useSavedText({ name, read, saved, notSaved }: SavedText): {
  readonly busy: boolean;
  readonly save: () => void;
} {
  const platform = usePlatform();
  const [busy, setBusy] = useState(false);
  const write = async () => {
    const place = await platform.saveText(name, await read());
    if (place !== null) showToast({ tone: "success", title: saved, detail: place });
  };
  const save = () => {
    setBusy(true);
    write()
      .catch((thrown: unknown) =>
        showToast({ tone: "danger", title: notSaved, detail: errorText(ApiError.from(thrown)) }),
      )
      .finally(() => setBusy(false));
  };
  return { busy, save };
}
