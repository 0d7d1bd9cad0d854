package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/scoll"
)

// maxText is larger than any text that a message can carry.
const maxText = 4096

func bcastCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "bcast [TEXT | --file FILE] [--bulk FILE] [--action NAME]",
		Short: "Send a text, a file, or an order to all members",
		Long: `Sends a text and bulk data to all members of a group over the tree, and prints who
got them: each member answers with a digest of what it received. With --action
each runs that action of its own configuration, with the text as standard input and
the bulk data as a file, and answers with the exit code and the end of the output.

Bulk data and actions are for nodes that the members allow, see the section admin
of lnetd's configuration; actions also need a key_file there, or a port that only root
can have, unless actions_without_identity says otherwise. --timeout is how long an action may take, unless the
member's configuration allows less; it is killed then.

With --via multicast bulk data goes to all at once, before the request goes down the
tree, to the multicast group that the section admin names; who does not get it so
fetches it from its parent, and so do all where that group does not work. Who answered,
and who did not, is told as without.

` + unreachedHelp + `
It is also 1 if an action failed.`,
		Example: `  scollctl bcast hello
  scollctl bcast --bulk site.tar --action install --timeout 1m
  scollctl bcast --live --action uptime --json | jq '.unreached[].nid'`,
		Args: cobra.MaximumNArgs(1),
	}
	a := addAudience(c, 30*time.Second)
	var file, bulk, action, via string
	c.Flags().StringVar(&file, "file", "", "send the content of `FILE` as the text; -: standard input")
	c.Flags().StringVar(&bulk, "bulk", "", "send the content of `FILE` as bulk data; -: standard input")
	c.Flags().StringVar(&via, "via", "tree", "`WAY` of bulk data: tree or multicast")
	c.Flags().StringVar(&action, "action", "", "run the action `NAME`")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := a.check(); err != nil {
			return err
		}
		if c.Flags().Changed("action") && action == "" {
			return cli.Usagef("--action: want the name of an action")
		}
		if via != "tree" && via != "multicast" {
			return cli.Usagef("--via: want tree or multicast, not %q", via)
		}
		r := a.request("text")
		r.Via = via
		if action != "" {
			r.Verb, r.Action = "run", action
		}
		var err error
		if r.Text, err = readText(c, args, file, bulk); err != nil {
			return err
		}
		data, end, err := readBulk(c, bulk)
		if err != nil {
			return err
		}
		defer end()
		return g.broadcast(c.Context(), c.OutOrStdout(), r, data, showDone)
	}
	return c
}

// readText returns the text to send: an argument, or the contents of a file.
func readText(c *cobra.Command, args []string, file, bulk string) ([]byte, error) {
	switch {
	case len(args) > 0 && file != "":
		return nil, cli.Usagef("TEXT and --file exclude each other")
	case file == "-" && bulk == "-":
		return nil, cli.Usagef("--file and --bulk cannot both be standard input")
	case len(args) > 0:
		return []byte(args[0]), nil
	case file == "":
		return nil, nil
	}
	in, err := open(c, file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxText+1))
	if err == nil && len(text) > maxText {
		err = cli.Hint(fmt.Errorf("%s is too long for a message", file), "send it as bulk data, with --bulk")
	}
	return text, err
}

// readBulk returns the bulk data that the command line names, nil if there is none, and a
// function that closes it.
func readBulk(c *cobra.Command, file string) (data io.Reader, end func() error, err error) {
	if file == "" {
		return nil, func() error { return nil }, nil
	}
	in, err := open(c, file)
	if err != nil {
		return nil, nil, err
	}
	buffered := bufio.NewReader(in)
	if _, err = buffered.Peek(1); err == nil {
		return buffered, in.Close, nil
	}
	if errors.Is(err, io.EOF) {
		err = cli.Hint(fmt.Errorf("%s is empty", file), "bulk data have at least one byte")
	}
	return nil, nil, errors.Join(err, in.Close())
}

func open(c *cobra.Command, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(c.InOrStdin()), nil
	}
	return os.Open(file)
}

// showDone shows what the members have done, or why not.
func showDone(w io.Writer, r *scoll.BroadcastReply) error {
	if r.ViaError != "" {
		fmt.Fprintf(w, "  the bulk data went down the tree: %s\n", r.ViaError)
	}
	return printSame(w, gather(r, func(a *scoll.Answer) (string, string) {
		if a.Exit == nil {
			return "received", ""
		}
		return ending(a), output(a)
	}))
}

// ending says in words how an action ended.
func ending(a *scoll.Answer) string {
	switch {
	case a.TimeOver:
		return "killed when its time was over"
	case *a.Exit < 0:
		return fmt.Sprintf("killed by signal %d", -*a.Exit)
	}
	return fmt.Sprintf("exit code %d", *a.Exit)
}

// output returns the output of an action, as text below the answer.
func output(a *scoll.Answer) string {
	if a.Output == nil {
		return ""
	}
	text := strings.TrimSuffix(*a.Output, "\n")
	if a.Cut {
		text = "…" + text
	}
	return text
}
