/**
 * Makes the locale usable before anything else runs; main.tsx imports this first.
 *
 * Under LANG=C WebKitGTK reports `navigator.language === "C"`, and `new Intl.NumberFormat("C")`
 * throws a RangeError, also inside libraries while they are being imported. Here the navigator's
 * answers are replaced by ones that Intl accepts.
 */
const fallback = "en-US";

function isUsable(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length > 0 && tag.length > 1;
  } catch {
    return false;
  }
}

/** The given tags that Intl accepts, POSIX spelling mended ("de_DE.UTF-8"); never empty. */
export function sanitiseLocales(tags: readonly string[]): readonly string[] {
  const mended = tags.map((tag) => tag.replace(/[.@].*$/, "").replaceAll("_", "-"));
  const usable = mended.filter((tag) => isUsable(tag) && tag.toLowerCase() !== "posix");
  return usable.length > 0 ? usable : [fallback];
}

export function installLocale(target: Navigator): void {
  const given = target.languages?.length ? target.languages : [target.language];
  const languages = sanitiseLocales(given);
  if (languages.length === given.length && languages.every((tag, at) => tag === given[at])) return;
  Object.defineProperty(target, "languages", { configurable: true, get: () => languages });
  Object.defineProperty(target, "language", { configurable: true, get: () => languages[0] });
}

installLocale(navigator);
