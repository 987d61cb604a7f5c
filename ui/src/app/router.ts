/**
 * Typed addresses in the location's hash. The table below is all there is: a route is its
 * pattern; parameters and their types follow from it. What a screen shows beyond its parameters
 * (the open side panel, a filter) is in the address's query, so that it survives a reload.
 */
import { useSyncExternalStore } from "react";

export const patterns = {
  home: "/",
  board: "/board/:project",
  task: "/task/:project/:number",
  attention: "/attention",
  workspaces: "/workspaces",
  runs: "/runs",
  costs: "/costs",
  agents: "/agents",
  machines: "/machines",
  innerLoop: "/inner-loop/:project",
  settings: "/settings",
  projectSettings: "/settings/project/:project",
  gallery: "/gallery",
} as const;

export type RouteName = keyof typeof patterns;

type ParameterNames<Pattern extends string> = Pattern extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | ParameterNames<Tail>
    : Rest
  : never;

export type RouteParams<Name extends RouteName> = {
  readonly [Key in ParameterNames<(typeof patterns)[Name]>]: string;
};

export type Query = Readonly<Record<string, string>>;

export type Route = {
  [Name in RouteName]: {
    readonly name: Name;
    readonly params: RouteParams<Name>;
    readonly query: Query;
  };
}[RouteName];

/** An address that no pattern matches. */
export interface UnknownRoute {
  readonly name: null;
  readonly path: string;
}

type Parameters<Name extends RouteName> = keyof RouteParams<Name> extends never
  ? [params?: Record<string, never>, query?: Query]
  : [params: RouteParams<Name>, query?: Query];

export function formatRoute<Name extends RouteName>(name: Name, ...rest: Parameters<Name>): string {
  const [params = {}, query = {}] = rest as [Record<string, string>?, Query?];
  const path = patterns[name].replace(/:(\w+)/g, (_, key: string) =>
    encodeURIComponent(params[key] ?? ""),
  );
  const search = new URLSearchParams(query).toString();
  return `#${path}${search ? `?${search}` : ""}`;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function matchPattern(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = decode(value);
    else if (part !== value) return null;
  }
  return params;
}

export function parseRoute(hash: string): Route | UnknownRoute {
  const [path = "/", search = ""] = hash.replace(/^#/, "").split("?", 2);
  for (const [name, pattern] of Object.entries(patterns)) {
    const params = matchPattern(pattern, path);
    if (params) {
      return { name, params, query: Object.fromEntries(new URLSearchParams(search)) } as Route;
    }
  }
  return { name: null, path };
}

let cachedHash: string | null = null;
let cachedRoute: Route | UnknownRoute = parseRoute("");

function currentRoute(): Route | UnknownRoute {
  if (location.hash !== cachedHash) {
    cachedHash = location.hash;
    cachedRoute = parseRoute(cachedHash);
  }
  return cachedRoute;
}

function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

export function useRoute(): Route | UnknownRoute {
  return useSyncExternalStore(subscribe, currentRoute);
}

export function navigate<Name extends RouteName>(name: Name, ...rest: Parameters<Name>): void {
  location.hash = formatRoute(name, ...rest);
}

/** Changes the query of the address in place; null removes a key. Leaves no history entry. */
export function setQuery(changes: Readonly<Record<string, string | null>>): void {
  const route = currentRoute();
  if (route.name === null) return;
  const merged = Object.entries({ ...route.query, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== null,
  );
  const target = (formatRoute as (name: RouteName, params: unknown, query: Query) => string)(
    route.name,
    route.params,
    Object.fromEntries(merged),
  );
  history.replaceState(null, "", target);
  dispatchEvent(new HashChangeEvent("hashchange"));
}
