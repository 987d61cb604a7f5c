import { Check, GitMerge } from "lucide-react";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { BrandMark } from "#ui/components/BrandMark.tsx";
import { Kbd, KeyHint } from "#ui/components/Kbd.tsx";
import { StateGlyph, stateKinds } from "#ui/components/StateGlyph.tsx";
import { Row } from "#ui/components/Row.tsx";
import styles from "./Gallery.module.css";
import { Samples, Section, Specimen } from "./Specimen.tsx";

const surfaces = ["sunken", "base", "raised", "overlay", "hover", "active", "code"];
const tones: readonly Tone[] = ["neutral", "accent", "success", "warning", "danger", "review"];
const agents = ["Claude Code", "Codex", "gemini-cli", "Local shell", "Opus reviewer"];

export function Foundations() {
  return (
    <Section title="Foundations">
      <Specimen name="Mark">
        <Samples>
          <BrandMark size={16} />
          <BrandMark size={24} />
          <BrandMark size={40} />
        </Samples>
      </Specimen>
      <Specimen name="Surfaces">
        <div className={styles.swatches}>
          {surfaces.map((name) => (
            <div
              key={name}
              className={styles.swatch}
              style={{ background: `var(--surface-${name})` }}
            >
              {name}
            </div>
          ))}
        </div>
      </Specimen>
      <Specimen name="Text">
        <div>
          <p style={{ fontSize: "var(--text-2xl)", fontWeight: 600 }}>Work on the anvil</p>
          <p style={{ fontSize: "var(--text-lg)", fontWeight: 600 }}>Three branches, one strike</p>
          <p>First level: what the person reads. 0123456789</p>
          <p style={{ color: "var(--text-2)" }}>Second level: what explains it.</p>
          <p style={{ color: "var(--text-3)" }}>Third level: what is there if looked for.</p>
          <code>fn main() -&gt; Result&lt;(), Error&gt; {"{ 0xO0 1lI }"}</code>
        </div>
      </Specimen>
      <Specimen name="States">
        <div className={styles.states}>
          {stateKinds.map((kind) => (
            <Row key={kind} as="span" gap={3}>
              <StateGlyph kind={kind} live={kind === "active"} />
              {kind}
            </Row>
          ))}
        </div>
      </Specimen>
      <Specimen name="Badges">
        <Samples>
          {tones.map((tone) => (
            <Badge key={tone} tone={tone}>
              {tone}
            </Badge>
          ))}
        </Samples>
        <Samples>
          <Badge tone="success" icon={<Check />}>
            Checks
          </Badge>
          <Badge tone="review" look="outline" icon={<GitMerge />}>
            Merging
          </Badge>
          <Badge look="outline">feature/login</Badge>
          <Badge look="count" tone="warning">
            3
          </Badge>
          <Badge look="count">128</Badge>
        </Samples>
      </Specimen>
      <Specimen name="Agents">
        <Samples>
          {agents.map((name, index) => (
            <Avatar key={name} name={name} live={index === 1} />
          ))}
          <Avatar name="Claude Code" size={28} live />
          <Avatar name="Codex" size={16} />
        </Samples>
      </Specimen>
      <Specimen name="Keys">
        <Samples>
          <Kbd>C</Kbd>
          <KeyHint keys="mod+k" />
          <KeyHint keys="g b" />
          <KeyHint keys="mod+shift+enter" />
        </Samples>
      </Specimen>
    </Section>
  );
}
