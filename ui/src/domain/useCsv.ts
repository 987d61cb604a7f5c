/** A table as a file that the person keeps where they want. */
import { useSavedText } from "./useSavedText.ts";

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

export function useCsv({ page, ...file }: Csv): ReturnType<typeof useSavedText> {
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
  return useSavedText({ ...file, read });
}
