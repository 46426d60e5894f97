/** `berth server install`. */
import type { Command } from 'commander';
import type { Terminal } from '../terminal/terminal.ts';

export function addServerInstall(server: Command, terminal: Terminal): void {
  server
    .command('install')
    .description('Install or update the control plane as a service of systemd (needs root)')
    .option('--uninstall', 'remove the service; its data and settings stay')
    .option('--purge', 'with --uninstall: remove its data, settings and user as well')
    .action(async ({ uninstall = false, purge = false }: { uninstall?: boolean; purge?: boolean }) => {
      if (purge && !uninstall) throw new Error('--purge goes with --uninstall only.');
      // Loaded only here, since every command starts with this file.
      const { installServer, uninstallServer } = await import('../machine/server-install.ts');
      const say = (line: string) => terminal.say(line);
      if (uninstall) await uninstallServer({ purge, say });
      else await installServer({ env: terminal.env, say });
    });
}
