import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { Truncate } from "./Truncate.tsx";
import { TextArea, TextField } from "./TextField.tsx";

it("lets texts and fields read in the direction of their own language, code aside", () => {
  render(
    <>
      <Truncate>שלום</Truncate>
      <TextField label="Title" />
      <TextArea label="Description" />
      <TextField label="Command" mono />
    </>,
  );
  expect(screen.getByText("שלום").dir).toBe("auto");
  const dirOf = (name: string) => screen.getByRole("textbox", { name }).getAttribute("dir");
  expect([dirOf("Title"), dirOf("Description"), dirOf("Command")]).toEqual(["auto", "auto", null]);
});
