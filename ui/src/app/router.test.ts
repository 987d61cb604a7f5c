import { expect, it } from "vitest";
import { formatRoute, navigate, parseRoute, setQuery } from "./router.ts";

it.each<[string, unknown]>([
  ["", { name: "home", params: {}, query: {} }],
  ["#/", { name: "home", params: {}, query: {} }],
  ["#/board/p1", { name: "board", params: { project: "p1" }, query: {} }],
  [
    "#/board/p1?task=12&q=a%20b",
    { name: "board", params: { project: "p1" }, query: { task: "12", q: "a b" } },
  ],
  ["#/task/p%2F1/7", { name: "task", params: { project: "p/1", number: "7" }, query: {} }],
  ["#/board", { name: null, path: "/board" }],
  ["#/nowhere", { name: null, path: "/nowhere" }],
  ["#/board/%E0%A4%A", { name: "board", params: { project: "%E0%A4%A" }, query: {} }],
])("reads %j", (hash, expected) => {
  expect(parseRoute(hash)).toEqual(expected);
});

it("writes what it reads", () => {
  const address = formatRoute("task", { project: "a b/c", number: "7" }, { tab: "diff" });
  expect(address).toBe("#/task/a%20b%2Fc/7?tab=diff");
  expect(parseRoute(address)).toEqual({
    name: "task",
    params: { project: "a b/c", number: "7" },
    query: { tab: "diff" },
  });
});

it("changes the query in place", () => {
  navigate("board", { project: "p1" }, { q: "x" });
  setQuery({ task: "3", q: null });
  expect(location.hash).toBe("#/board/p1?task=3");
});
