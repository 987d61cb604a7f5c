/** A table as a file that the person keeps where they want. */
import { useState } from "react";
import { ApiError, errorText } from "#ui/api/error.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

export interface CsvPage {
  readonly text: string;
  readonly next_cursor: string | null;
}

export interface Csv {
  readonly name: string;
  readonly page: (cursor: { readonly cursor?: string }) => Promise<CsvPage>;
  readonly saved: string;
  readonly notSaved: string;
}

export function useCsv({ name, page, saved, notSaved }: Csv): {
  readonly busy: boolean;
  readonly save: () => void;
} {
  const platform = usePlatform();
  const [busy, setBusy] = useState(false);
  const read = async (): Promise<string> => {
    const parts: string[] = [];
    let cursor: string | null = null;
    do {
      const next: CsvPage = await page(cursor === null ? {} : { cursor });
      parts.push(next.text);
      cursor = next.next_cursor;
    } while (cursor !== null);
    return parts.join("");
  };
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
