import { QueryClientProvider } from "@tanstack/react-query";
import { act, render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { ToastHost } from "#ui/components/Toast.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { inputsOf, violationsIn } from "#ui/test/renderApp.tsx";
import { sampleToken, withoutMcp } from "#ui/test/sampleApiAccess.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { ApiAccess } from "./ApiAccess.tsx";

async function open(sample: string | null = null, hash = "#/settings") {
  location.hash = hash;
  const host = createSampleHost(sample, 0);
  const shown = render(
    <PlatformProvider platform={host}>
      <QueryClientProvider client={createQueryClient()}>
        <TooltipProvider>
          <ToastHost>
            <ApiAccess />
          </ToastHost>
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  const section = await screen.findByRole("region", { name: "API and MCP" });
  return { host, section, user: userEvent.setup(), ...shown };
}

const press = (name: string) => screen.findByRole("button", { name });
const secret = /sample-token-\d/;

describe("addresses", () => {
  it("are told and copied", async () => {
    const { user, section, container } = await open();
    await user.click(await press("Copy API address"));
    expect(await navigator.clipboard.readText()).toBe("http://127.0.0.1:4780");
    await user.click(await press("Copy MCP address"));
    expect(await navigator.clipboard.readText()).toBe("http://127.0.0.1:4780/mcp");
    expect(within(section).queryByRole("alert")).toBeNull();
    expect(await violationsIn(container)).toEqual([]);
  });

  it("are none where nothing is served, with the reason to look for", async () => {
    const { container } = await open("shut");
    const notice = await screen.findByRole("alert", { name: "API and MCP are unavailable" });
    expect(notice.textContent).toContain("can read and write /home/me/.local/share/forge");
    expect(screen.getByText("Not running")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Copy MCP address" })).toBeNull();
    expect(await violationsIn(container)).toEqual([]);
  });

  it("that cannot be read are an error that can be tried again", async () => {
    const { host, user, section } = await open("broken");
    const alert = await within(section).findByRole("alert");
    expect(alert.textContent).toContain("Could not load the API and MCP settings");
    const reads = inputsOf(host, "doors_get").length;
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(inputsOf(host, "doors_get").length).toBeGreaterThan(reads));
  });
});

describe("the switch of MCP", () => {
  it("takes the address and the configurations over HTTP with it", async () => {
    const { host, user } = await open();
    const off = withoutMcp();
    host.after("doors_update", off, () => host.answer("doors_get", off), "meta");
    await user.click(await screen.findByRole("switch", { name: "MCP over HTTP" }));
    await waitFor(() =>
      expect(screen.queryByRole("button", { name: "Copy MCP address" })).toBeNull(),
    );
    expect(inputsOf(host, "doors_update")).toEqual([{ mcp_enabled: false }]);
    await user.click(screen.getByRole("radio", { name: "HTTP" }));
    expect(await screen.findByText(/MCP over HTTP is off/)).toBeTruthy();
  });

  it("is closed with the reason where Forge was started without MCP", async () => {
    const { user, host } = await open("unguarded");
    const toggle = await screen.findByRole("switch", { name: "MCP over HTTP" });
    expect(toggle).toMatchObject({ ariaChecked: "false" });
    expect(toggle.hasAttribute("data-disabled")).toBe(true);
    const reason = document.getElementById(toggle.getAttribute("aria-describedby") ?? "");
    expect(reason?.textContent).toContain("started with --no-mcp");
    await user.click(toggle);
    expect(inputsOf(host, "doors_update")).toEqual([]);
  });
});

describe("the token", () => {
  it("is on the page only from Show to Hide, by keys alone", async () => {
    const { host, user, container } = await open();
    const show = await press("Show token");
    expect(screen.getByText("/home/me/.local/share/forge/token")).toBeTruthy();
    expect(inputsOf(host, "doors_token")).toEqual([]);
    expect(document.documentElement.outerHTML).not.toMatch(secret);
    show.focus();
    await user.keyboard("{Enter}");
    expect(await screen.findByText(secret)).toBeTruthy();
    const hide = screen.getByRole("button", { name: "Hide token", expanded: true });
    expect(document.activeElement).toBe(hide);
    expect(await violationsIn(container)).toEqual([]);
    await user.keyboard("{Enter}");
    expect(document.documentElement.outerHTML).not.toMatch(secret);
  });

  it("is hidden when the screen is left, and when the window is", async () => {
    const left = await open();
    await left.user.click(await press("Show token"));
    await screen.findByText(secret);
    left.unmount();
    const { user } = await open();
    const show = await press("Show token");
    expect(document.documentElement.outerHTML).not.toMatch(secret);
    await user.click(show);
    await screen.findByText(secret);
    const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
    act(() => void document.dispatchEvent(new Event("visibilitychange")));
    hidden.mockRestore();
    expect(document.documentElement.outerHTML).not.toMatch(secret);
    expect(await press("Show token")).toBeTruthy();
  });

  it("is copied without being shown", async () => {
    const { user } = await open();
    await user.click(await press("Copy token"));
    await screen.findAllByText("Copied");
    expect(await navigator.clipboard.readText()).toMatch(/^sample-token-1-/);
    expect(document.documentElement.outerHTML).not.toMatch(secret);
  });

  it("is made anew only after the question, and what is shown is the new one", async () => {
    const { host, user } = await open();
    const renewed = () => host.answer("doors_token", sampleToken(2));
    host.after("doors_token_renew", sampleToken(2), renewed, "meta");
    await user.click(await press("Show token"));
    await screen.findByText(/sample-token-1/);
    await user.click(await press("Renew token"));
    const question = await screen.findByRole("alertdialog", { name: "Renew the token?" });
    expect(question.textContent).toContain("The current token stops working immediately");
    await user.click(within(question).getByRole("button", { name: "Cancel" }));
    expect(inputsOf(host, "doors_token_renew")).toEqual([]);
    await user.click(await press("Renew token"));
    await user.click(await press("Renew token"));
    expect(await screen.findByText(/sample-token-2/)).toBeTruthy();
    await waitFor(() => expect(screen.queryByRole("alertdialog")).toBeNull());
    expect(document.documentElement.outerHTML).not.toContain("sample-token-1");
  });

  it("stays hidden when a new one is made unseen", async () => {
    const { user } = await open();
    await user.click(await press("Renew token"));
    await user.click(await press("Renew token"));
    await screen.findByText("Token renewed");
    expect(document.documentElement.outerHTML).not.toMatch(secret);
  });

  it("is none where none is asked for", async () => {
    await open("unguarded");
    expect(await screen.findByText("--no-auth")).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Show token" })).toBeNull();
  });
});

describe("the configuration of a client", () => {
  it("is for Codex by a command first, and copied as it belongs into the file", async () => {
    const { user } = await open();
    expect(await screen.findByText("~/.codex/config.toml")).toBeTruthy();
    await user.click(await press("Copy Codex configuration"));
    expect(await navigator.clipboard.readText()).toBe(
      '[mcp_servers.forge]\ncommand = "/usr/bin/forge"\nargs = ["mcp", "--data-dir", "/home/me/.local/share/forge"]',
    );
    await user.click(await press("Copy Codex command"));
    expect(await navigator.clipboard.readText()).toMatch(/^codex mcp add forge -- /);
  });

  it("names the variable over HTTP, and where the token for it is", async () => {
    const { user } = await open();
    await user.click(await screen.findByRole("radio", { name: "Claude Code" }));
    await user.click(screen.getByRole("radio", { name: "HTTP" }));
    expect(await screen.findByText("in your project")).toBeTruthy();
    await user.click(await press("Copy the line that sets FORGE_TOKEN"));
    expect(await navigator.clipboard.readText()).toBe(
      `export FORGE_TOKEN="$(cat '/home/me/.local/share/forge/token')"`,
    );
    expect(document.documentElement.outerHTML).not.toMatch(secret);
  });

  it("says who asks for the token, and gives no command where there is none", async () => {
    const { user } = await open();
    await user.click(await screen.findByRole("radio", { name: "VS Code" }));
    await user.click(screen.getByRole("radio", { name: "HTTP" }));
    expect(await screen.findByText(/asks you for the token the first time/)).toBeTruthy();
    expect(screen.queryByRole("button", { name: "Copy VS Code command" })).toBeNull();
    expect(
      screen.queryByRole("button", { name: "Copy the line that sets FORGE_TOKEN" }),
    ).toBeNull();
  });

  it("is chosen by arrow keys", async () => {
    const { user } = await open();
    const codex = await screen.findByRole("radio", { name: "Codex" });
    codex.focus();
    await user.keyboard("{ArrowRight}{ArrowRight}");
    expect(await screen.findByText("~/.cursor/mcp.json")).toBeTruthy();
  });
});

it("takes the keyboard when something leads here", async () => {
  await open(null, "#/settings?part=api");
  const heading = screen.getByRole("heading", { name: "API and MCP" });
  await waitFor(() => expect(document.activeElement).toBe(heading));
});
