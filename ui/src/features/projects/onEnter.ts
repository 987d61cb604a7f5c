import type { KeyboardEvent } from "react";

/** Enter in a field saves what is written on its page. */
export const onEnter = (submit: () => void) => (event: KeyboardEvent) => {
  if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
  event.preventDefault();
  submit();
};
