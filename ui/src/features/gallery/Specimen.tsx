import type { ReactNode } from "react";
import layout from "#ui/components/layout.module.css";
import styles from "./Gallery.module.css";

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={layout.stack4}>
      <h2 className={styles.heading}>{title}</h2>
      {children}
    </section>
  );
}

export function Specimen({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className={styles.specimen}>
      <span className={styles.name}>{name}</span>
      <div className={layout.stack4}>{children}</div>
    </div>
  );
}

export function Row({ children }: { children: ReactNode }) {
  return <div className={styles.row}>{children}</div>;
}
