package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/bugreport"
	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/doctor"
)

// reportVerb is the verb bugreport with its flags.
type reportVerb struct {
	globals *globals
	opts    bugreport.Options
	force   bool
}

func bugreportCommand(g *globals) *cobra.Command {
	v := &reportVerb{globals: g, opts: bugreport.Options{Environ: os.Environ(), Host: doctor.System{}, Now: time.Now}}
	c := &cobra.Command{
		Use:   "bugreport [FILE]",
		Short: "Write an archive with what others need to find out what is wrong",
		Long: `Writes a .tar.gz with what the daemon says (state of the node and all modules, configuration,
metrics, profiles), what doctor says, the end of the log, and facts of the host: interfaces,
addresses, routes, settings of the kernel. Secrets are not in it: the content of files of keys,
values whose names are those of secrets, the arguments of configured programs, and
whatever equals one of these. It has addresses, NIDs and names of hosts: look through it
before you publish it.

The file has mode 0600, and an existing one is left unless --force is given. The report takes
32 MiB unpacked and --limit at most. What cannot be had, such as the state of
a daemon that does not answer, is listed. As root it has more.`,
		Example: "  lnetctl bugreport\n  lnetctl bugreport --log /var/log/lnetd.log report.tar.gz",
		Args:    cobra.MaximumNArgs(1),
		RunE:    v.run,
	}
	f := c.Flags()
	f.StringVar(&v.opts.Config, "config", "/etc/ulnet/lnetd.yaml", "configuration `FILE` of lnetd, read if lnetd does not answer")
	f.StringVar(&v.opts.Log, "log", "", "`FILE` with the log of lnetd (default the journal of systemd)")
	f.DurationVar(&v.opts.Limit, "limit", time.Minute, "how long to take")
	f.DurationVar(&v.opts.Answer, "timeout", 3*time.Second, "how long to wait for each answer of lnetd, and for each program")
	f.BoolVar(&v.force, "force", false, "replace an existing file")
	return c
}

// reported is what bugreport prints with --json.
type reported struct {
	Path string `json:"path"` // path of the archive
	bugreport.Index
}

func (v *reportVerb) run(c *cobra.Command, args []string) error {
	if v.opts.Limit <= 0 || v.opts.Answer <= 0 {
		return cli.Usagef("--limit, --timeout: want times such as 3s, not %v and %v", v.opts.Limit, v.opts.Answer)
	}
	v.opts.Socket, v.opts.Doctor.AcceptPort = v.globals.socket, 988
	path := ""
	if len(args) > 0 {
		path = args[0]
		if err := v.mayMake(path); err != nil { // checked before the work, and again when the file gets its name
			return err
		}
	}
	r, err := bugreport.Collect(c.Context(), v.opts)
	if c.Context().Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if path == "" {
		path = r.Name() + ".tar.gz"
	}
	if err := v.write(path, r); err != nil {
		return err
	}
	return v.show(c.OutOrStdout(), path, r)
}

// mayMake returns an error if there is a file that the archive must not replace: without --force any
// file, with --force anything but a regular file, such as a device or a link.
func (v *reportVerb) mayMake(path string) error {
	switch old, err := os.Lstat(path); {
	case err != nil:
		return nil
	case !v.force:
		return exists(path)
	case !old.Mode().IsRegular():
		return cli.Hint(fmt.Errorf("%s: not a regular file", path), "--force replaces regular files only: name another file")
	}
	return nil
}

func exists(path string) error {
	return cli.Hint(fmt.Errorf("%s: %w", path, os.ErrExist), "name another file, or replace this one with --force")
}

// write writes the archive to a new file, which gets its name when it is complete.
func (v *reportVerb) write(path string, r *bugreport.Report) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".bugreport-*") // its mode is 0600, so that only the user can read it
	if err != nil {
		return cli.Hint(err, "name a file in a folder that can be written")
	}
	defer os.Remove(f.Name()) // fails, which is no harm, if the file already has its final name
	if err = errors.Join(r.Write(f), f.Close()); err != nil {
		return err
	}
	if v.force {
		if err := v.mayMake(path); err != nil { // checked again, because the collection may have taken as long as --limit
			return err
		}
		return os.Rename(f.Name(), path)
	}
	if err := os.Link(f.Name(), path); errors.Is(err, os.ErrExist) { // Link fails if there is a file, which Rename would replace
		return exists(path)
	} else if err != nil {
		return cli.Hint(err, "name a file in a folder of this system's own, such as /tmp")
	}
	return nil
}

// show says where the report is, and what it lacks.
func (v *reportVerb) show(w io.Writer, path string, r *bugreport.Report) error {
	if v.globals.json {
		return cli.JSON(w, reported{path, r.Index})
	}
	for i := 0; i < len(r.Missing); {
		first, n := r.Missing[i], 1
		for i+n < len(r.Missing) && r.Missing[i+n].Why == first.Why {
			n++
		}
		i += n
		if n == 1 {
			fmt.Fprintf(w, "missing: %s: %s\n", first.What, first.Why)
		} else {
			fmt.Fprintf(w, "missing: %s and %d more: %s\n", first.What, n-1, first.Why)
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d files; look through it before you publish it\n", path, len(r.Files))
	return err
}
