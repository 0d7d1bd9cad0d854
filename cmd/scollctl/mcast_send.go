package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/rmcast"
)

func mcastSendCommand(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use:   "send GROUP [TEXT | --file FILE | --lines]",
		Short: "Send messages to all members",
		Long: `Sends a text, a file, or each line of standard input as a message of its own to all
members of a group, and ends when every live member has all. Messages have up to 1 MiB,
and no more than the window of the group. Members that failed meanwhile are named: they
may lack some.`,
		Example: `  scollctl mcast send news 'hello, all'
  tail -f log | scollctl mcast send news --lines
  scollctl mcast send news --file site.conf --json`,
		Args: cobra.RangeArgs(1, 2),
	}
	var file string
	r := rmcast.SendRequest{}
	c.Flags().StringVar(&file, "file", "", "send the content of `FILE` as a message; -: standard input")
	c.Flags().BoolVar(&r.Lines, "lines", false, "each line of standard input, or of --file, is a message")
	c.Flags().BoolVar(&r.Wait, "wait", false, "send each when all have the one before")
	timeout := addReady(c)
	deliver := c.Flags().Duration("deliver-timeout", 0, "`TIME` until all members have a message; 0: for ever")
	c.RunE = func(c *cobra.Command, args []string) error {
		var err error
		if r.TimeoutMS, err = timeout(); err != nil {
			return err
		}
		if r.DeliverTimeoutMS = deliver.Milliseconds(); *deliver < 0 || *deliver > 0 && r.DeliverTimeoutMS == 0 {
			return cli.Usagef("--deliver-timeout: want 0 or a time from 1ms, not %v", *deliver)
		}
		r.Group = args[0]
		in, err := messages(c, args[1:], file, r.Lines)
		if err != nil {
			return err
		}
		defer in.Close()
		sent, err := rmcast.OpSend.CallWith(c.Context(), g.client(), r, in)
		if err != nil {
			return err
		}
		return g.showSent(c.OutOrStdout(), &sent)
	}
	return c
}

// messages returns the messages to send: the arguments, or the contents of a file.
func messages(c *cobra.Command, text []string, file string, lines bool) (io.ReadCloser, error) {
	switch {
	case len(text) > 0 && (file != "" || lines):
		return nil, cli.Usagef("TEXT excludes --file and --lines")
	case len(text) > 0:
		return io.NopCloser(strings.NewReader(text[0])), nil
	case file == "" && lines:
		return open(c, "-")
	case file == "":
		return nil, cli.Usagef("%s needs a TEXT, --file or --lines", c.CommandPath())
	}
	return open(c, file)
}

// showSent prints the result of sending, and returns an error if not all members have the
// messages.
func (g *globals) showSent(w io.Writer, sent *rmcast.SendResult) error {
	var err error
	if g.json {
		err = cli.JSON(w, sent)
	} else {
		_, err = fmt.Fprintf(w, "%s, %d bytes, with all members of version %s after %v\n",
			cli.Count(sent.Messages, "message", "messages"), sent.Bytes, sent.Version, ofMicros(sent.ElapsedUS))
	}
	if err == nil && len(sent.Failed) > 0 {
		var names []string
		for _, id := range sent.Failed {
			names = append(names, id.String())
		}
		what := "failed meanwhile"
		if sent.Split {
			what = "failed or, silent and perhaps alive, were left behind meanwhile"
		}
		err = cli.Hint(fmt.Errorf("%s %s, and may lack messages: %s", cli.Count(len(names), "member", "members"), what, strings.Join(names, " ")),
			"they are members no longer, and join again by themselves when they can")
	}
	return err
}
