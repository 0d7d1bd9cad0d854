package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/modules/rmcast"
)

func mcastRecvCommand(g *globals) *cobra.Command {
	r := rmcast.ReceiveRequest{}
	c := &cobra.Command{
		Use:   "recv GROUP",
		Short: "Print the messages of a group",
		Long: `Prints the messages that are delivered at this node from now on, those of this node
included, each as a line: from whom, its number, and its text. With --raw they are
written as they are, one after the other, and with --json each is an object, with
the content as base64. Numbers rise with each message of an origin, but not by one:
a long one has several.

The group may be joined later, and left. Messages for which this command is too slow
are counted, and make the exit code 1. It ends after --count messages, or with an
interrupt.`,
		Example: `  scollctl mcast recv news
  scollctl mcast recv news --count 1 --raw > site.conf`,
		Args: cli.Args("a group"),
	}
	c.Flags().IntVar(&r.Count, "count", 0, "end after `NUMBER` messages; 0: never")
	raw := c.Flags().Bool("raw", false, "write what messages have, and nothing else")
	c.RunE = func(c *cobra.Command, args []string) error {
		if r.Count < 0 {
			return cli.Usagef("--count: want 0 or more, not %d", r.Count)
		}
		if *raw && g.json {
			return cli.Usagef("--raw and --json exclude each other")
		}
		r.Group = args[0]
		p := heardPrinter{out: bufio.NewWriter(c.OutOrStdout()), talk: c.ErrOrStderr(), group: r.Group, json: g.json, raw: *raw}
		err := rmcast.OpReceive.Call(c.Context(), g.client(), r, p.report)
		if c.Context().Err() != nil && r.Count == 0 {
			err = nil // an interrupt is the usual end of the command
		}
		return errors.Join(err, p.end())
	}
	return c
}

// heardPrinter prints the messages that the node delivers.
type heardPrinter struct {
	out       *bufio.Writer
	talk      io.Writer
	group     string
	json, raw bool
	missed    int
}

func (p *heardPrinter) report(s rmcast.Step) error {
	if s.Ready {
		fmt.Fprintf(p.talk, "waiting for messages of group %s\n", p.group)
		return nil
	}
	p.missed += s.Missed
	data := s.Payload
	for i := range s.Mcast {
		h := &s.Mcast[i]
		n := min(h.Length, len(data))
		if h.Event != "" {
			n = 0
		}
		if err := p.print(h, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	return p.out.Flush()
}

// heardDoc is the JSON output for a message.
type heardDoc struct {
	rmcast.Heard
	Data []byte `json:"data,omitempty"`
}

func (p *heardPrinter) print(h *rmcast.Heard, data []byte) error {
	switch {
	case p.json:
		return json.NewEncoder(p.out).Encode(heardDoc{*h, data})
	case p.raw:
		_, err := p.out.Write(data)
		return err
	case h.Event != "":
		_, err := fmt.Fprintln(p.talk, eventLine(h))
		return err
	}
	_, err := fmt.Fprintf(p.out, "%v  %d  %s\n", h.Origin, h.Seq, printable(strings.ReplaceAll(string(data), "\n", "␤")))
	return err
}

func eventLine(h *rmcast.Heard) string {
	if h.Error != "" {
		return "this node is no member any more: " + h.Error
	}
	return "members changed: version " + h.Version
}

func (p *heardPrinter) end() error {
	if p.missed > 0 {
		return cli.Hint(fmt.Errorf("%s came faster than they were printed", cli.Count(p.missed, "message", "messages")),
			"backlog in the section rmcast is how much waits; have the output read faster")
	}
	return nil
}
