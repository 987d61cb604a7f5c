/**
 * A language that nobody speaks, made of the English catalogue: every text is in brackets, accented, and 40 % longer.
 * What is not in brackets on a page does not come from the catalogue; what is cut or overlaps has no room for a
 * longer language. `?pseudo` in the address of the development server shows it.
 */
import { i18next } from "#ui/i18n/index.ts";
import en from "#ui/i18n/en.json";

export const pseudoLanguage = "en-XA";

interface Catalogue {
  readonly [key: string]: string | Catalogue;
}

const plain = "aceinosuyzACEINOSUYZ";
const accented = "áçéîñöšüýžÅÇÉÎÑÖŠÛÝŽ";
const accents = new Map([...plain].map((letter, index) => [letter, accented.charAt(index)]));

/** What is not words: what is put in, what is nested, marks of elements. */
const kept = /(\{\{.*?\}\}|\$t\(.*?\)|<\/?\w+\s*\/?>|`[^`]*`)/;

/** One text of it. Placeholders are kept as they are. */
export function pseudo(text: string): string {
  const words = text
    .split(kept)
    .map((part, index) =>
      index % 2 === 1
        ? part
        : part.replaceAll(/\p{L}/gu, (letter) => accents.get(letter) ?? letter),
    )
    .join("");
  const letters = text
    .split(kept)
    .filter((_, index) => index % 2 === 0)
    .join("").length;
  // In words, for what is too long breaks between them.
  const more = "xxxx "
    .repeat(Math.ceil(letters / 5))
    .slice(0, Math.ceil(letters * 0.4))
    .trimEnd();
  return `⟦${words}${more === "" ? "" : ` ${more}`}⟧`;
}

function pseudoOf(catalogue: Catalogue): Catalogue {
  return Object.fromEntries(
    Object.entries(catalogue).map(([key, value]) => [
      key,
      typeof value === "string" ? pseudo(value) : pseudoOf(value),
    ]),
  );
}

/** The page is in it from now on; answers with how to go back. */
export async function speakPseudo(): Promise<() => Promise<unknown>> {
  const { language } = i18next;
  i18next.addResourceBundle(pseudoLanguage, "forge", pseudoOf(en));
  await i18next.changeLanguage(pseudoLanguage);
  return () => i18next.changeLanguage(language);
}
