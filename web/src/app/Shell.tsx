/**
 * Frame of all pages: header with navigation, numbers of active runs, workspace, link to the API page and switch of
 * the colour scheme; the current page below.
 */
import { ActionIcon, AppShell, Box, Group, Text, Tooltip, useMantineColorScheme } from '@mantine/core';
import {
  IconAdjustments,
  IconApi,
  IconArrowsDiff,
  IconChartLine,
  IconChecklist,
  IconMoon,
  IconServer2,
  IconStethoscope,
  IconSun,
  IconTable,
} from '@tabler/icons-react';
import { Link, NavLink, Outlet, useLocation, useNavigation } from 'react-router';

import { useAbout } from '../api/queries';
import { ActiveRunsBadge } from './ActiveRunsBadge';

const PAGES = [
  { to: '/runs', label: 'Runs', icon: IconTable },
  { to: '/configure', label: 'Configure', icon: IconAdjustments },
  { to: '/expected', label: 'Expected', icon: IconChartLine },
  { to: '/explain', label: 'Explain', icon: IconStethoscope },
  { to: '/hosts', label: 'Hosts', icon: IconServer2 },
  { to: '/compare', label: 'Compare', icon: IconArrowsDiff },
  { to: '/validation', label: 'Validation', icon: IconChecklist },
];

export function Shell() {
  const busy = useNavigation().state === 'loading';
  const { pathname } = useLocation();
  return (
    <AppShell header={{ height: 45 }} padding={0}>
      <a href="#main" className="skip">
        Skip to the page
      </a>
      <AppShell.Header px="md">
        <Group h={44} gap="lg" wrap="nowrap">
          <Group gap={8} wrap="nowrap">
            <img src="/favicon.svg" width={22} height={22} alt="" />
            <Text fw={700} size="md">
              fabricbench
            </Text>
          </Group>
          <nav aria-label="Pages" style={{ flex: 1, whiteSpace: 'nowrap' }}>
            {PAGES.map(({ to, label, icon: Icon }) => (
              <NavLink
                key={to}
                to={to}
                className={({ isActive }) => `nav-link${isActive || isBelow(to, pathname) ? ' active' : ''}`}
              >
                <Icon size={15} stroke={1.7} aria-hidden />
                {label}
              </NavLink>
            ))}
          </nav>
          <ActiveRunsBadge />
          <WorkspaceName />
          <ApiLink />
          <SchemeToggle />
        </Group>
      </AppShell.Header>
      <AppShell.Main id="main" tabIndex={-1} aria-busy={busy} style={{ outline: 'none' }}>
        <Box p="md">
          <Outlet />
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}

/** Whether a page without a link of its own belongs to a page of the navigation. */
function isBelow(to: string, pathname: string): boolean {
  return to === '/runs' && /^\/(trials|campaigns|import)\b/.test(pathname);
}

function WorkspaceName() {
  const about = useAbout();
  if (!about.data) return null;
  return (
    <Tooltip label={`fabricbench ${about.data.version}, ${about.data.cores} cores`}>
      <Text size="xs" className="muted" truncate maw={260}>
        {about.data.workspace}
      </Text>
    </Tooltip>
  );
}

function ApiLink() {
  const label = 'The API for programs';
  return (
    <ActionIcon component={Link} to="/docs" variant="subtle" color="gray" aria-label={label} title={label}>
      <IconApi size={19} />
    </ActionIcon>
  );
}

function SchemeToggle() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const dark = isDark(colorScheme);
  const label = dark ? 'Use light colours' : 'Use dark colours';
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={label}
      title={label}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      {dark ? <IconSun size={17} /> : <IconMoon size={17} />}
    </ActionIcon>
  );
}

function isDark(scheme: string) {
  return scheme === 'auto' ? window.matchMedia('(prefers-color-scheme: dark)').matches : scheme === 'dark';
}
