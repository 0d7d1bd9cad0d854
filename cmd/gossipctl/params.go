package main

import (
	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/gossip"
	"ulnet/lnet/nid"
)

func paramsCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "params",
		Short: "Show the parameters in force",
		Long: `Shows the parameters in force, defaults filled in. Interval, number and digest of
the participants must be the same everywhere: where they differ, one of the
nodes takes part no more. Cycles are counted, the rest has its unit in its name.`,
		Example: "  gossipctl params",
		Args:    cli.Args(),
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := gossip.OpGossipParams.Call(c.Context(), g.client(), control.None{})
			if err != nil {
				return err
			}
			return cli.Print(c.OutOrStdout(), g.json, newParamsDoc(p))
		},
	}
}

type paramsDoc struct {
	State      gossip.GossipState `json:"state"`
	Version    int                `json:"version"`
	Self       nid.NID            `json:"self,omitzero"`
	IntervalMS int64              `json:"interval_ms"`
	RTTMS      float64            `json:"rtt_ms"`
	N          int                `json:"n"`
	Digest     string             `json:"digest"`
	Threshold  int                `json:"threshold"` // dead is who is older, in cycles
	Fudge      int                `json:"fudge"`
	Obsolete   int                `json:"obsolete"` // units of the clock
	Stealth    int                `json:"stealth"`  // cycles of silence after a start
	Quorum     int                `json:"quorum_percent"`
	ColdStart  bool               `json:"cold_start"`
	Strict     bool               `json:"strict"`
	Seed       uint64             `json:"seed"`
	Keys       int                `json:"keys"` // 0: messages are not signed
}

func newParamsDoc(p gossip.GossipParams) paramsDoc {
	q := p.Params
	return paramsDoc{
		State: p.State, Version: q.Version, Self: q.Self, IntervalMS: q.IntervalMS, RTTMS: q.RTTMS, N: q.N, Digest: q.Digest,
		Threshold: q.Limits.Dead, Fudge: q.Limits.Fudge, Obsolete: q.Limits.Obsolete, Stealth: q.Limits.Stealth,
		Quorum: q.Quorum, ColdStart: q.ColdStart, Strict: q.Strict, Seed: q.Seed, Keys: q.Keys,
	}
}
