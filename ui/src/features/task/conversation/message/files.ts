/** Files on their way to an agent: what fits, and what a file is as text on the wire. */

/** As in the engine, which refuses what is larger; told before anything is read. */
export const maxFileBytes = 10 * 1024 * 1024;
export const maxFiles = 10;

export const fits = (file: { readonly size: number }): boolean => file.size <= maxFileBytes;

/** A name for what has none of its own, as a picture from the clipboard. */
export function nameOf(file: { readonly name: string; readonly type: string }): string {
  if (file.name !== "") return file.name;
  const kind = file.type.split("/")[1] ?? "";
  return /^[a-z0-9]+$/.test(kind) ? `pasted.${kind}` : "pasted";
}

/** A file's content in base64. */
export function contentOf(file: Blob): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => {
      const url = String(reader.result);
      resolve(url.slice(url.indexOf(",") + 1));
    });
    reader.addEventListener("error", () => reject(reader.error ?? new Error("failed to read")));
    reader.readAsDataURL(file);
  });
}
