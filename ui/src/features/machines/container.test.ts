import { expect, it } from "vitest";
import type { ContainerConfig } from "#ui/api/generated.ts";
import { containerFormOf, containerOf, emptyContainer } from "./container.ts";

const full: ContainerConfig = {
  engine: "podman",
  image: null,
  containerfile: "/home/me/box/Containerfile",
  devcontainer: null,
  network: "none",
  memory_mb: 4096,
  cpus: 1.5,
  pids: 500,
  mounts: [
    { source: "/home/me/.cargo/registry", target: "/cargo", read_only: false },
    { source: "/srv/data", target: "/data", read_only: true },
  ],
  user: "1000:1000",
};

it("keeps containers as they are when nothing is changed", () => {
  expect(containerOf(containerFormOf(full))).toEqual(full);
});

it("limits nothing and mounts nothing where nothing is said", () => {
  expect(containerOf({ ...emptyContainer, source: " debian:12 " })).toEqual({
    engine: "auto",
    image: "debian:12",
    containerfile: null,
    devcontainer: null,
    network: "default",
    memory_mb: null,
    cpus: null,
    pids: null,
    mounts: [],
    user: null,
  });
});

it("has the engine say what is wrong with a mount without a target", () => {
  expect(containerOf({ ...emptyContainer, mounts: "/data\n" }).mounts).toEqual([
    { source: "/data", target: "", read_only: true },
  ]);
});
