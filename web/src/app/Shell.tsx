/**
 * Frame of all pages: header with navigation, numbers of active runs, workspace, link to the API page and switch of
 * the colour scheme; the current page below.
 */
import { ActionIcon, AppShell, Box, Group, Text, Tooltip, useMantineColorScheme } from '@mantine/core';
import { IconApi, IconMoon, IconSun } from '@tabler/icons-react';
import { useEffect } from 'react';
import { Link, Outlet, useMatches, useNavigation } from 'react-router';

import { useAbout } from '../api/queries';
import { ActiveRunsBadge } from './ActiveRunsBadge';
import { type Page, PAGES } from './pages';

export function Shell() {
  const busy = useNavigation().state === 'loading';
  const page = usePage();
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
            {PAGES.map(({ path, title, icon: Icon }) =>
              Icon === undefined ? null : (
                <Link
                  key={path}
                  to={`/${path}`}
                  className={`nav-link${path === (page?.under ?? page?.path) ? ' active' : ''}`}
                  aria-current={path === page?.path ? 'page' : undefined}
                >
                  <Icon size={15} stroke={1.7} aria-hidden />
                  {title}
                </Link>
              ),
            )}
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

/** The current page, whose title is that of the window; none for an unknown URL. */
function usePage(): Page | undefined {
  const page = useMatches().at(-1)?.handle as Page | undefined;
  const title = page?.title ?? null;
  useEffect(() => {
    if (title !== null) document.title = `${title} · fabricbench`;
  }, [title]);
  return page;
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
