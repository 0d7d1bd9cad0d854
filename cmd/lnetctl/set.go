package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

func setCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "set", Short: "Change settings of the running node"}
	c.AddCommand(
		switchCommand(g, "discovery", "Turn the discovery of peers off or on; peers are told", ""),
		numberCommand(g, "retry_count", "N", "Set how often a message is sent again by another interface, 0 to 5", 2),
		numberCommand(g, "transaction_timeout", "SECONDS", "Set how long an operation may take, tries and all", 150),
		numberCommand(g, "health_sensitivity", "N", "Set what a failure takes from a health of 1000; 0 turns health and resends off", 100),
		numberCommand(g, "recovery_interval", "SECONDS", "Accepted, without effect, as in kernels since 2.14", 1),
		numberCommand(g, "recovery_limit", "SECONDS", "Set how long after its last message an interface is pinged that is not well; 0: without end", 3600),
		numberCommand(g, "max_recovery_ping_interval", "SECONDS", "Set the longest time between such pings", 900),
		switchCommand(g, "routing", "Turn the forwarding of messages between the node's networks off or on",
			`Makes the node a router, or an ordinary node again; peers are told. Turned on it is
starting for up to 110 seconds ('lnetctl routing show' has enable: 3), until each network
was heard: it forwards, but peers do not choose it yet. Turned off, messages that wait
for a buffer are dropped and those that have one still leave; until then it cannot be
turned on again (EBUSY).`),
		buffersCommand(g, "tiny", "without payload", 2048),
		buffersCommand(g, "small", "of up to 4 KiB", 16384),
		buffersCommand(g, "large", "of up to 1 MiB", 1024))
	c.AddCommand(setRouteSettings(g)...)
	return c
}

// switchCommand is a setting that is 0 or 1.
func switchCommand(g *globals, name, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: name + " 0|1", Short: short, Long: long,
		Example: "  lnetctl set " + name + " 0",
		Args:    cli.Args("0 or 1"),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := strconv.Atoi(args[0])
			if err != nil || value != 0 && value != 1 {
				return cli.Usagef("%s is 0 or 1, not %q", name, args[0])
			}
			return node.OpSet.Call(c.Context(), g.client(), node.Setting{Name: name, Value: value})
		},
	}
}

// numberCommand sets a number of which the daemon knows the range.
func numberCommand(g *globals, name, what, short string, example int) *cobra.Command {
	return &cobra.Command{
		Use:     name + " " + what,
		Short:   short,
		Example: fmt.Sprintf("  lnetctl set %s %d", name, example),
		Args:    cli.Args("a number"),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := strconv.Atoi(args[0])
			if err != nil {
				return cli.Usagef("%s is a number, not %q", name, args[0])
			}
			return node.OpSet.Call(c.Context(), g.client(), node.Setting{Name: name, Value: value})
		},
	}
}

// buffersCommand sets the number of router buffers of a kind.
func buffersCommand(g *globals, kind, what string, usual int) *cobra.Command {
	name := kind + "_buffers"
	return &cobra.Command{
		Use:     name + " N",
		Short:   fmt.Sprintf("Set how many messages %s may be in this router; 0: %d", what, usual),
		Example: "  lnetctl set " + name + " " + strconv.Itoa(2*usual),
		Args:    cli.Args("a number of buffers"),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := strconv.Atoi(args[0])
			if err != nil || value < 0 {
				return cli.Usagef("want a number of buffers, or 0 for %d, not %q", usual, args[0])
			}
			return node.OpSet.Call(c.Context(), g.client(), node.Setting{Name: name, Value: value})
		},
	}
}
