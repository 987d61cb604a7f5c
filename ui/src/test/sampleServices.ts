/** Services of the sample host's projects: their own, those of `.forge.json`, and those that files imply. */
import type { ServiceDefinition, ServiceOffer } from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";

/** What project p1 names itself. */
export const sampleServices: readonly ServiceDefinition[] = [
  {
    name: "web",
    command: "npm run dev -- --port $PORT",
    cwd: "frontend",
    env: { API_URL: "http://localhost:8080", NODE_ENV: "development" },
    ready: { http: "/" },
    open: "/shop",
    start: "on_review",
    stop_after_minutes: 30,
  },
  { name: "api", command: "cargo run --bin shop-api", ready: { pattern: "listening on" } },
];

/** What `.forge.json` of the default branch names; the project replaces the first. */
export const sampleRepositoryServices: readonly ServiceDefinition[] = [
  { name: "api", command: "cargo run --release" },
  { name: "docs", command: "mdbook serve --port $PORT", ready: { port: true } },
];

export const sampleServiceOffers: readonly ServiceOffer[] = [
  {
    service: { name: "preview", command: "npm run preview", ready: { port: true } },
    source: "package.json",
  },
  { service: { name: "worker", command: "bundle exec sidekiq" }, source: "Procfile" },
];

export function serviceAnswers(): Handlers {
  return {
    project_service_offers: ({ project_id }) =>
      pageOf(project_id === "p1" ? sampleServiceOffers : []),
    task_services: () => pageOf([]),
    service_list: () => pageOf([]),
  };
}
