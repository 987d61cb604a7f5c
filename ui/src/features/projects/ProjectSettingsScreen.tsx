export default function ProjectSettingsScreen() {
  return null;
}
