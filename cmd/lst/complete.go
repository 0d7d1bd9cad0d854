package main

import (
	"context"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/modules/selftest"
)

// offers returns what shells offer to complete arguments: the groups and batches of the session, and
// the states of nodes. Without a session there are no groups and batches.
func (g *globals) offers() cli.Offers {
	return cli.Offers{
		"GROUP": func(ctx context.Context) (names []string) {
			groups, err := selftest.OpGroups.Call(ctx, control.NewClient(g.socket), control.None{})
			if err != nil {
				return nil
			}
			for i := range groups {
				names = append(names, groups[i].Name)
			}
			return names
		},
		"BATCH": func(ctx context.Context) (names []string) {
			batches, err := selftest.OpBatches.Call(ctx, control.NewClient(g.socket), control.None{})
			if err != nil {
				return nil
			}
			for i := range batches {
				names = append(names, batches[i].Name)
			}
			return names
		},
		"STATE": func(context.Context) []string { return []string{"active", "busy", "down", "unknown", "invalid"} },
	}
}
