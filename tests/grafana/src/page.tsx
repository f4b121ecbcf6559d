// The page that the browser opens: it shows one dashboard, and tells what it shows.
import './boot';
import 'uplot/dist/uPlot.min.css'; // Before 11 Grafana's app has it, and not its packages.
import { ThemeContext } from '@grafana/data';
import { sceneUtils, type EmbeddedScene, type SceneObject } from '@grafana/scenes';
import { GlobalStyles, PortalContainer } from '@grafana/ui';
import { createRoot } from 'react-dom/client';
import { MemoryRouter } from 'react-router-dom';
import { remember } from './drawn';
import { dump } from './dump';
import type { Dashboard } from './model';
import { asked } from './prometheus';
import { register } from './registries';
import { sceneOf, type Shown } from './scene';
import { provide, setCurrent, theme } from './services';

interface Page {
  scene: EmbeddedScene;
  dashboard: Dashboard;
}

function View({ page }: { page: Page }) {
  const Scene = page.scene.Component;
  const { colors } = theme;
  const heading = { display: 'flex', alignItems: 'center', height: 40, color: colors.text.primary };
  const canvas = { background: colors.background.canvas, minHeight: '100vh', padding: '8px 16px' };
  return (
    <ThemeContext.Provider value={theme}>
      <GlobalStyles />
      <div className="main-view" style={canvas}>
        <div style={heading}>Dashboards › {page.dashboard.title}</div>
        <MemoryRouter>
          <Scene model={page.scene} />
        </MemoryRouter>
      </div>
      <PortalContainer />
    </ThemeContext.Provider>
  );
}

/** Panels whose query has not been answered. */
function waiting(object: SceneObject): number {
  const state = object.state as { queries?: unknown; data?: { state?: string } };
  let count = state.queries && object.isActive && (!state.data || state.data.state === 'Loading') ? 1 : 0;
  object.forEachChild((child) => {
    count += waiting(child);
  });
  return count;
}

remember();
register();
provide();
let shown: Page | undefined;

const harness = {
  show(dashboard: Dashboard, how: Shown & { search?: string }): void {
    const scene = sceneOf(dashboard, how);
    setCurrent(scene);
    if (how.search) {
      sceneUtils.syncStateFromSearchParams(scene, new URLSearchParams(how.search));
    }
    shown = { scene, dashboard };
    createRoot(document.getElementById('root')!).render(<View page={shown} />);
  },
  /** Grows with every query; the second number is 0 when all are answered. */
  progress: (): [number, number] => [asked.queries.length, asked.running + (shown ? waiting(shown.scene) : 1)],
  dump: async (): Promise<string> => JSON.stringify(await dump(shown!.scene, shown!.dashboard)),
};

declare global {
  interface Window {
    harness: typeof harness;
  }
}
window.harness = harness;
