import { expect, it } from "vitest";
import type { KubernetesConfig } from "#ui/api/generated.ts";
import { emptyKubernetes, kubernetesFormOf, kubernetesOf } from "./kubernetes.ts";

const full: KubernetesConfig = {
  context: "prod",
  kubeconfig: "/home/me/.kube/config",
  namespace: "agents",
  image: "registry.example/agent:1",
  service_account: "robot",
  resources: { cpu: "500m", memory: "2Gi", "nvidia.com/gpu": "1" },
  tolerations: ["gpu:NoSchedule", "team=a:NoExecute"],
};

it("keeps what Jobs ask for as it is when nothing is changed", () => {
  expect(kubernetesOf(kubernetesFormOf(full))).toEqual(full);
});

it("leaves what is empty to kubectl and the cluster", () => {
  const form = { ...emptyKubernetes, namespace: " agents ", podImage: "a:1", context: " " };
  expect(kubernetesOf({ ...form, resources: " gpu = 1 \n\nodd", podCpu: "2" })).toEqual({
    context: null,
    kubeconfig: null,
    namespace: "agents",
    image: "a:1",
    service_account: null,
    resources: { gpu: "1", odd: "", cpu: "2" },
    tolerations: [],
  });
});
