/** Whether a text has a word that lessons are searched for: the engine takes those of three letters or more. Pure. */
export const isSearchable = (text: string): boolean => /[\p{L}\p{N}]{3,}/u.test(text);
