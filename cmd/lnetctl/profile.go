package main

import (
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
)

func profileCommand(g *globals) *cobra.Command {
	var req control.ProfileRequest
	c := &cobra.Command{
		Use:   "profile NAME [--time TIME] FILE | profile NAME --text",
		Short: "Write a profile of the daemon to a file, for go tool pprof",
		Long: `Writes a profile of lnetd's process: cpu for its CPU time, heap for its memory, goroutine,
threadcreate and others, which 'go tool pprof' reads, or trace, which 'go tool trace' reads.
cpu and trace record for --time. With --text it prints the profile: of goroutine, what
each goroutine does now. The file must not exist. Root and the user of lnetd may do so.`,
		Example: "  lnetctl profile cpu --time 10s cpu.pprof && go tool pprof cpu.pprof\n  lnetctl profile goroutine --text",
		Args: func(c *cobra.Command, args []string) error {
			if req.Text {
				return cli.Args("NAME")(c, args)
			}
			return cli.Args("NAME", "FILE")(c, args)
		},
		ValidArgs: control.Profiles(),
	}
	c.Flags().DurationVar(&req.Time, "time", control.UsualProfile, "record cpu or trace for `TIME`, up to 5m")
	c.Flags().BoolVar(&req.Text, "text", false, "print the profile as text")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		req.Name = args[0]
		if err := req.Check(); err != nil {
			return cli.Hint(cli.Usagef("%w", err), "%s", cli.HintOf(err))
		}
		if req.Text && (req.Name == "cpu" || req.Name == "trace") {
			return cli.Usagef("%s has no text: name a file", req.Name)
		}
		if req.Text {
			_, err = writeProfile(c, g, req, c.OutOrStdout())
			return err
		}
		return newProfile(c, g, req, args[1])
	}
	return c
}

// newProfile writes a profile to a new file. It makes the file before it asks for the profile, which may take
// minutes.
func newProfile(c *cobra.Command, g *globals, req control.ProfileRequest, path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cli.Hint(err, "name a file that does not exist, in a folder that can be written")
	}
	n, err := writeProfile(c, g, req, f)
	if err == nil && n == 0 {
		err = fmt.Errorf("the daemon sent an empty profile")
	}
	if err = cmp.Or(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

// writeProfile writes a profile to out and returns how many bytes it has.
func writeProfile(c *cobra.Command, g *globals, req control.ProfileRequest, out io.Writer) (int64, error) {
	in, err := g.client().Profile(c.Context(), req)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	return io.Copy(out, in)
}
