/** How the containers of a machine are made, as the dialog's fields, and back. Pure. */
import type {
  ContainerConfig,
  ContainerEngine,
  ContainerMount,
  ContainerNetwork,
} from "#ui/api/generated.ts";

/** What the image is taken from. */
export type ImageFrom = "image" | "containerfile" | "devcontainer";

export interface ContainerForm {
  readonly from: ImageFrom;
  /** The image's name, or the path of the file. */
  readonly source: string;
  readonly engine: ContainerEngine;
  readonly network: ContainerNetwork;
  readonly memory: number | null;
  /** Processors, which may be parts of one. */
  readonly cpus: string;
  readonly pids: number | null;
  /** One mount a line: `SOURCE:TARGET`, read-only unless it ends with `:rw`. */
  readonly mounts: string;
  readonly containerUser: string;
}

export const emptyContainer: ContainerForm = {
  from: "image",
  source: "",
  engine: "auto",
  network: "default",
  memory: null,
  cpus: "",
  pids: null,
  mounts: "",
  containerUser: "",
};

const sources: readonly ImageFrom[] = ["image", "containerfile", "devcontainer"];

/** The source of the image. */
export function sourceOf(config: ContainerConfig): Pick<ContainerForm, "from" | "source"> {
  const from = sources.find((each) => config[each] != null) ?? "image";
  return { from, source: config[from] ?? "" };
}

const writable = ":rw";

export function containerFormOf(config: ContainerConfig): ContainerForm {
  return {
    ...sourceOf(config),
    engine: config.engine ?? "auto",
    network: config.network ?? "default",
    memory: config.memory_mb ?? null,
    cpus: config.cpus == null ? "" : String(config.cpus),
    pids: config.pids ?? null,
    mounts: (config.mounts ?? [])
      .map(
        ({ source, target, read_only }) =>
          `${source}:${target}${read_only === false ? writable : ""}`,
      )
      .join("\n"),
    containerUser: config.user ?? "",
  };
}

/** The lines of the field of mounts that say something. */
export const mountLines = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

function mountOf(line: string): ContainerMount {
  const paths = line.endsWith(writable) ? line.slice(0, -writable.length) : line;
  const at = paths.indexOf(":");
  const [source, target] = at < 0 ? [paths, ""] : [paths.slice(0, at), paths.slice(at + 1)];
  return { source, target, read_only: paths === line };
}

/** What is empty is unlimited, or as the image says. */
export function containerOf(form: ContainerForm): ContainerConfig {
  const source = form.source.trim();
  const of = (from: ImageFrom) => (form.from === from ? source : null);
  const cpus = Number.parseFloat(form.cpus);
  return {
    engine: form.engine,
    image: of("image"),
    containerfile: of("containerfile"),
    devcontainer: of("devcontainer"),
    network: form.network,
    memory_mb: form.memory,
    cpus: Number.isFinite(cpus) ? cpus : null,
    pids: form.pids,
    mounts: mountLines(form.mounts).map(mountOf),
    user: form.containerUser.trim() || null,
  };
}
