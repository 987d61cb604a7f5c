/** What the Jobs of a machine ask for in Kubernetes, as the dialog's fields, and back. Pure. */
import type { KubernetesConfig } from "#ui/api/generated.ts";

export interface KubernetesForm {
  readonly namespace: string;
  readonly podImage: string;
  readonly context: string;
  readonly kubeconfig: string;
  readonly serviceAccount: string;
  readonly podCpu: string;
  readonly podMemory: string;
  /** One resource a line: `NAME=QUANTITY`. */
  readonly resources: string;
  /** One toleration a line: `KEY[=VALUE]:EFFECT`. */
  readonly tolerations: string;
}

export const emptyKubernetes: KubernetesForm = {
  namespace: "",
  podImage: "",
  context: "",
  kubeconfig: "",
  serviceAccount: "",
  podCpu: "",
  podMemory: "",
  resources: "",
  tolerations: "",
};

/** The folder of Forge in a pod, unless said otherwise. */
export const podRoot = "/forge";

export function kubernetesFormOf(config: KubernetesConfig): KubernetesForm {
  const { cpu = "", memory = "", ...others } = config.resources ?? {};
  return {
    namespace: config.namespace,
    podImage: config.image,
    context: config.context ?? "",
    kubeconfig: config.kubeconfig ?? "",
    serviceAccount: config.service_account ?? "",
    podCpu: cpu,
    podMemory: memory,
    resources: Object.entries(others)
      .map(([name, amount]) => `${name}=${amount}`)
      .join("\n"),
    tolerations: (config.tolerations ?? []).join("\n"),
  };
}

/** The lines of a field that say something. */
export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

function resourceOf(line: string): [name: string, amount: string] {
  const at = line.indexOf("=");
  return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
}

const worded = (text: string): string | null => text.trim() || null;

/** What is empty is as kubectl or the cluster has it. */
export function kubernetesOf(form: KubernetesForm): KubernetesConfig {
  const named: [string, string][] = [
    ["cpu", form.podCpu.trim()],
    ["memory", form.podMemory.trim()],
  ];
  return {
    context: worded(form.context),
    kubeconfig: worded(form.kubeconfig),
    namespace: form.namespace.trim(),
    image: form.podImage.trim(),
    service_account: worded(form.serviceAccount),
    resources: Object.fromEntries([
      ...linesOf(form.resources).map(resourceOf),
      ...named.filter(([, amount]) => amount !== ""),
    ]),
    tolerations: linesOf(form.tolerations),
  };
}
