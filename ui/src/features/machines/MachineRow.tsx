import { Pencil, PlugZap, Trash2, X } from "lucide-react";
import { useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { ContainerConfig, KubernetesConfig, Machine, SlurmConfig } from "#ui/api/generated.ts";
import { DrainingBadge, loadWords } from "#ui/domain/machines/Load.tsx";
import { formatRoute } from "#ui/app/router.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Row } from "#ui/components/Row.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { Contact } from "./Contact.tsx";
import { DrainButton } from "./Drain.tsx";
import { RemoveDialog } from "./RemoveDialog.tsx";
import { TestOutcome, TestSteps } from "./MachineTestResult.tsx";
import { targetOf } from "./form.ts";
import styles from "./MachinesScreen.module.css";

/** The test of a machine. A result goes with what was tested: a changed machine has none. */
function useTest(machine: Machine) {
  const [tested, setTested] = useState<string | null>(null);
  const { mutate, reset, data, error, isPending } = useOpMutation("machine_test");
  const current = !isPending && tested === machine.updated_at;
  return {
    run: () => {
      setTested(machine.updated_at);
      mutate({ machine_id: machine.id });
    },
    hide: reset,
    isPending,
    data: current ? data : undefined,
    error: current ? error : null,
  };
}

function Labels({ labels }: { labels: readonly string[] }) {
  const { t } = useTranslation();
  if (labels.length === 0) return null;
  return (
    <ul className={styles.labels} aria-label={t("machines.labels")}>
      {labels.map((label) => (
        <li key={label}>
          <Badge>{label}</Badge>
        </li>
      ))}
    </ul>
  );
}

/** What is known of a machine, in one line that breaks after its dots. */
function Facts({ facts }: { facts: readonly (string | null)[] }) {
  const said = facts.filter((fact) => fact !== null);
  return said.length > 0 && <span className={styles.count}>{said.join("\u00a0· ")}</span>;
}

/** What containers may use and reach. */
function ContainerFacts({ container }: { container: ContainerConfig }) {
  const { t } = useTranslation();
  const { engine = "auto", network = "default", memory_mb, cpus, pids, mounts } = container;
  const facts = [
    t(`machines.container.factOf.${engine}`),
    network === "default" ? null : t(`machines.container.factNetworkOf.${network}`),
    memory_mb == null ? null : t("machines.container.factMemory", { count: memory_mb }),
    cpus == null ? null : t("machines.container.factCpus", { count: cpus }),
    pids == null ? null : t("machines.container.factPids", { count: pids }),
    mounts?.length ? t("machines.container.factMounts", { count: mounts.length }) : null,
  ];
  return <Facts facts={facts} />;
}

/** What jobs ask for; nothing where all of it is left to the cluster. */
function SlurmFacts({ slurm }: { slurm: SlurmConfig }) {
  const { t } = useTranslation();
  const { partition, account, time_minutes, cpus, memory_mb, gres } = slurm;
  const facts = [
    partition == null ? null : t("machines.slurm.factPartition", { name: partition }),
    account == null ? null : t("machines.slurm.factAccount", { name: account }),
    time_minutes == null ? null : t("machines.slurm.factMinutes", { count: time_minutes }),
    cpus == null ? null : t("machines.container.factCpus", { count: cpus }),
    memory_mb == null ? null : t("machines.container.factMemory", { count: memory_mb }),
    gres ?? null,
  ];
  return <Facts facts={facts} />;
}

/** What pods are made of and ask for. */
function KubernetesFacts({ kubernetes }: { kubernetes: KubernetesConfig }) {
  const { t } = useTranslation();
  const { image, service_account, resources, tolerations } = kubernetes;
  const facts = [
    image,
    service_account == null
      ? null
      : t("machines.kubernetes.factServiceAccount", { name: service_account }),
    ...Object.entries(resources ?? {}).map(([name, amount]) => `${name} ${amount}`),
    tolerations?.length
      ? t("machines.kubernetes.factTolerations", { names: tolerations.join(", ") })
      : null,
  ];
  return <Facts facts={facts} />;
}

/** How a machine is reached: an address or a file as it is typed, a cluster in words. */
function Way({ machine }: { machine: Machine }) {
  const { t } = useTranslation();
  const { kind, slurm, kubernetes } = machine;
  if (kubernetes) {
    const { namespace, context } = kubernetes;
    return (
      <span className={styles.target} data-selectable>
        {context == null
          ? t("machines.kubernetes.way", { namespace })
          : t("machines.kubernetes.wayOf", { namespace, cluster: context })}
      </span>
    );
  }
  if (kind !== "slurm") {
    return (
      <code className={styles.target} data-selectable>
        {targetOf(machine)}
      </code>
    );
  }
  return (
    <span className={styles.target} data-selectable>
      {slurm?.via == null
        ? t("machines.slurm.wayHere")
        : t("machines.slurm.wayVia", { name: slurm.via })}
    </span>
  );
}

export function MachineRow({ machine, onEdit }: { machine: Machine; onEdit: () => void }) {
  const { t } = useTranslation();
  const [removing, setRemoving] = useState(false);
  const testButton = useRef<HTMLButtonElement>(null);
  const test = useTest(machine);
  const { kind, name, container, slurm, kubernetes, labels, tasks } = machine;
  const load = loadWords(machine, t);
  return (
    <li className={styles.machine}>
      <div className={styles.row}>
        <Stack gap={1} fill>
          <Row as="h2" gap={3}>
            {name}
            {machine.draining && <DrainingBadge />}
          </Row>
          <Way machine={machine} />
          {container && <ContainerFacts container={container} />}
          {slurm && <SlurmFacts slurm={slurm} />}
          {kubernetes && <KubernetesFacts kubernetes={kubernetes} />}
          <Labels labels={labels} />
          <Row wrap gap={3}>
            <a
              className={styles.count}
              href={formatRoute("runs", {}, { machine: machine.id })}
              aria-label={t("machines.runsOn", { name, load })}
            >
              {load}
            </a>
            <span className={styles.count}>{t("machines.tasksThere", { count: tasks })}</span>
          </Row>
          <Contact machine={machine} />
        </Stack>
        <div className={styles.actions}>
          <Button
            ref={testButton}
            size="sm"
            icon={<PlugZap />}
            aria-label={t("machines.testOf", { name })}
            busy={test.isPending}
            onClick={test.run}
          >
            {t("machines.test")}
          </Button>
          <DrainButton machine={machine} />
          <IconButton label={t("machines.edit", { name })} icon={<Pencil />} onClick={onEdit} />
          <IconButton
            label={t("machines.remove", { name })}
            icon={<Trash2 />}
            onClick={() => setRemoving(true)}
          />
        </div>
      </div>
      <div className={styles.outcome}>
        {/* Always there, so that what comes into it is announced; the steps are read by who looks. */}
        <div role="status" className={layout.fillNarrow}>
          {test.isPending && (
            <Stack gap={3}>
              <p className={layout.note}>{t(`machines.testingOf.${kind}`)}</p>
              <SkeletonText lines={3} />
            </Stack>
          )}
          {test.error && (
            <p className={layout.error}>
              {t("machines.notTested")}: {errorText(test.error)}
            </p>
          )}
          {test.data && <TestOutcome test={test.data} />}
        </div>
        {(test.data || test.error) && (
          <IconButton
            size="sm"
            label={t("machines.hideTest", { name })}
            icon={<X />}
            onClick={() => {
              test.hide();
              testButton.current?.focus();
            }}
          />
        )}
      </div>
      {test.data && <TestSteps name={name} test={test.data} />}
      {removing && <RemoveDialog machine={machine} onClose={() => setRemoving(false)} />}
    </li>
  );
}
