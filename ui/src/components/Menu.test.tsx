import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { Menu } from "./Menu.tsx";

it("is worked by keys alone, passes over nothing it shows, and returns focus", async () => {
  const onSelect = vi.fn<() => void>();
  const refused = vi.fn<() => void>();
  render(
    <Menu
      trigger={<button type="button">More</button>}
      entries={[
        { id: "start", label: "Start", onSelect },
        { kind: "separator", id: "line" },
        { id: "pause", label: "Pause", disabled: true, note: "Nothing runs", onSelect: refused },
      ]}
    />,
  );
  await userEvent.tab();
  await userEvent.keyboard("{Enter}");
  const items = await screen.findAllByRole("menuitem");
  expect(items.map((item) => item.textContent)).toEqual(["Start", "PauseNothing runs"]);
  await userEvent.keyboard("{ArrowDown}{Enter}");
  expect(refused).not.toHaveBeenCalled();
  await userEvent.keyboard("{ArrowUp}{Enter}");
  expect(onSelect).toHaveBeenCalledOnce();
  await waitFor(() =>
    expect(document.activeElement).toBe(screen.getByRole("button", { name: "More" })),
  );
});
