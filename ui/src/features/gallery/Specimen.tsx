import type { ReactNode } from "react";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./Gallery.module.css";

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack as="section" gap={4}>
      <h2 className={styles.heading}>{title}</h2>
      {children}
    </Stack>
  );
}

export function Specimen({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles.specimen}>
      <span className={styles.name}>{name}</span>
      <Stack gap={4}>{children}</Stack>
    </div>
  );
}

export function Samples({ children }: { children: ReactNode }) {
  return <div className={styles.row}>{children}</div>;
}
