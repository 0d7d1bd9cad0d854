package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/scoll"
)

func pingCommand(g *globals) *cobra.Command {
	return askCommand(g, "ping", "Ask all members whether they are there",
		`Asks all members of a group at once, over the tree, whether they are there. With gossip
those that are dead are not asked, but listed with the others that did not answer;
--live leaves them out. Other verbs are not sent to a group with a dead member
without --live.`, noAnswers)
}

func versionCommand(g *globals) *cobra.Command {
	return askCommand(g, "version", "Show the versions of all members",
		"Shows which version of lnetd the members of a group run.", func(w io.Writer, r *scoll.BroadcastReply) error {
			return printSame(w, gather(r, func(a *scoll.Answer) (string, string) { return printable(a.Version), "" }))
		})
}

func configCommand(g *globals) *cobra.Command {
	return askCommand(g, "config", "Show whether all members have the same configuration",
		`Compares the configurations of the members of a group: digests of all that should
be the same, that is without networks, places of files, and the NID of a node.
The exit code is 1 if they differ.`, func(w io.Writer, r *scoll.BroadcastReply) error {
			all := gather(r, func(a *scoll.Answer) (string, string) { return a.Digest[:min(len(a.Digest), 16)], "" })
			if err := printSame(w, all); err != nil {
				return err
			}
			good := 0
			for _, s := range all {
				if !s.bad {
					good++
				}
			}
			if good > 1 {
				return cli.Hint(errors.New("configurations differ"), "compare those of a node of each line: 'lnetd config' explains the keys")
			}
			return nil
		})
}

func statsCommand(g *globals) *cobra.Command {
	return cli.Question[any]{
		Use: "stats", Short: "Show what this node counts of collectives",
		Long: `Shows the counters of this node: requests and replies, and for each reason what
was refused; below admin those of the administration service.`,
		Example: "  scollctl stats --json | jq .scoll.spoofed",
		Args:    cli.Args(),
		Ask: func(ctx context.Context, _ []string) (any, error) {
			s, err := scoll.OpStatus.Call(ctx, g.client(), control.None{})
			return struct {
				Scoll any `json:"scoll"`
				Admin any `json:"admin"`
			}{s.Stats, s.Admin}, err
		},
	}.Command(&g.json)
}

// offset returns the difference between two clocks as text, with its sign.
func offset(ns int64) string {
	d := fmt.Sprint(rounded(nanos(ns)))
	if ns > 0 {
		d = "+" + d
	}
	return d
}
