package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

func configCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "config", Short: "The configuration of the daemon: check a file, show what counts, save what runs"}
	c.AddCommand(configSave(g), configCheck(g), configShow(g))
	return c
}

func configSave(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "save [FILE]",
		Short: "Write what runs, so that it survives a restart",
		Long: `Writes the configuration of the running node to a file that lnetd imports when it starts:
the one of its --lnet-conf or key lnet_conf, or /etc/lnet.conf. What changed at run time is
in it, but no peer that was discovered, which is discovered again, and no time-out of
'net set --lnd-timeout'. Networks and routes that lnetd's flags or its own file name start again
though they were removed: remove them there, too. The file says every setting, also
those that only ulnet has; a file for kernels is 'lnetctl export --backup'. The file is replaced as
a whole, or stays as it is. It stays also while LNet is not configured on the node, or while
a reload, 'lnet configure' or 'lnet unconfigure' runs: the next start would have no networks, or a part.`,
		Example: "  lnetctl config save\n  lnetctl config save /etc/lnet.conf",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, t, err := runningTree(c.Context(), g.client())
			if err != nil {
				return err
			}
			path := s.LNetConf
			if len(args) == 1 {
				path = args[0]
			}
			if path == "" {
				return cli.Hint(errors.New("lnetd reads no file of lnetctl's when it starts"), "start it with --lnet-conf FILE, or name a file here")
			}
			var text bytes.Buffer
			if err := tree.Write(&text, t.Saved()); err != nil {
				return err
			}
			if err := replaceFile(path, text.Bytes()); err != nil {
				return cli.Hint(err, "name a file that can be written")
			}
			fmt.Fprintf(c.OutOrStdout(), "%s\n", path)
			return nil
		},
	}
}

// runningTree returns the state of a node and its configuration, which it reads by several requests. ENETDOWN: LNet is not
// configured on the node, which therefore has no networks. EBUSY: the node was changed between these requests, or is
// being changed.
func runningTree(ctx context.Context, client *control.Client) (s node.Status, t *tree.Tree, err error) {
	if s, err = node.OpStatus.Call(ctx, client, control.None{}); err != nil {
		return s, nil, err
	}
	if err = downError(s); err != nil {
		return s, nil, err
	}
	if t, err = node.Remote(client).Tree(ctx); err != nil {
		return s, nil, err
	}
	after, err := node.OpStatus.Call(ctx, client, control.None{})
	if err == nil && (s.Changes%2 == 1 || after.Changes != s.Changes) {
		err = cli.Hint(cli.Errnof(syscall.EBUSY, "a reload, 'lnetctl lnet configure' or 'unconfigure' changes the node"), "wait until it has ended, and try again")
	}
	return s, t, err
}

// replaceFile writes a file beside path and renames it, so that the file at path is never
// incomplete. A symbolic link stays, and the file that it names is replaced, or created. The new file has
// the permissions and the owner of the one that it replaces. Anything but a regular file stays, too: root
// could otherwise replace a device that all programs of the host use.
func replaceFile(path string, text []byte) (err error) {
	if path, err = linked(path); err != nil {
		return err
	}
	old, oldErr := os.Lstat(path)
	if oldErr == nil && !old.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // an error of Remove is ignored: it would hide err
		}
	}()
	_, err = f.Write(text)
	if oldErr == nil {
		err = errors.Join(err, makeLike(f, old))
	} else {
		err = errors.Join(err, f.Chmod(0o644))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// makeLike gives a file the owner, the group and the permissions of another: lnetd, which runs as a user of
// its own, may read its configuration as a member of the file's group.
func makeLike(f *os.File, old fs.FileInfo) (err error) {
	if is := old.Sys().(*syscall.Stat_t); int(is.Uid) != os.Geteuid() || int(is.Gid) != os.Getegid() {
		err = f.Chown(int(is.Uid), int(is.Gid))
	}
	return errors.Join(err, f.Chmod(old.Mode().Perm()))
}

// maxLinks is how many symbolic links, each of which names the next one, are followed; Linux has
// the same limit (MAXSYMLINKS).
const maxLinks = 40

// linked returns the path of the file that symbolic links at path lead to. The file need not exist.
func linked(path string) (string, error) {
	for range maxLinks {
		file, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
		to, err := os.Readlink(path)
		if err != nil { // path is no link: a file that does not exist yet
			return path, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", &fs.PathError{Op: "replace", Path: path, Err: syscall.ELOOP}
}
