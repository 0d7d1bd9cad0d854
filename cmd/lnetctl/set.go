package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/cmd/internal/node"
)

// settable is a setting of the running node that 'lnetctl set' changes.
type settable struct {
	name    string // name of the setting, in the tool and on the node
	value   string // name of the value in the usage text
	short   string
	long    string
	example string
	words   string // name of the setting in the error for a value that is no number, if it differs from name
	item    string // name of the object in errors, if it differs from name
	failed  string // text of a refusal before the text of its errno; empty: "cannot configure NAME: ", with blanks in the name
	whole   string // complete text of the refusal of a value out of range; empty: it consists of failed and the errno
	sysfs   bool   // kernels have this setting as a file in sysfs, so their tool reports ENODATA for a value out of range
	off     []int  // 0 and 1, the valid values of a setting that is either off or on; nil: a setting of another kind
}

var settables = []settable{
	{name: "tiny_buffers", value: "N", short: "Set how many messages without payload may be in this router; 0: 2048", example: "4096", failed: "cannot set tiny buffers: "},
	{name: "small_buffers", value: "N", short: "Set how many messages of up to 4 KiB may be in this router; 0: 16384", example: "32768", failed: "cannot set small buffers: "},
	{name: "large_buffers", value: "N", short: "Set how many messages of up to 1 MiB may be in this router; 0: 1024", example: "2048", failed: "cannot set large buffers: "},
	{
		name: "routing", value: "0|1", short: "Turn the forwarding of messages between the node's networks off or on", example: "0", off: []int{0, 1},
		failed: "cannot enable routing ",
		long: `Makes the node a router, or an ordinary node again; peers are told. Turned on it is
starting for up to 110 seconds ('lnetctl routing show' has enable: 3), until each network
was heard: it forwards, but peers do not choose it yet. Turned off, messages that wait
for a buffer are dropped and those that have one still leave; until then it cannot be
turned on again (EBUSY).`,
	},
	{name: "numa_range", value: "N", short: "Kept and shown, without effect: the node does not choose interfaces by NUMA distance", example: "0"},
	{name: "max_interfaces", value: "N", short: "Set how many interfaces a peer may have, at least 16", example: "200"},
	{name: "discovery", value: "0|1", short: "Turn the discovery of peers off or on; peers are told", example: "0", off: []int{0, 1}},
	{name: "drop_asym_route", value: "0|1", short: "Drop messages by a router that is no gateway to the network of their sender, or take them", example: "1", off: []int{0, 1}},
	{name: "retry_count", value: "N", short: "Set how often a message is sent again by another interface, 0 to 5", example: "2", sysfs: true, failed: "cannot configure retry count: "},
	{name: "transaction_timeout", value: "SECONDS", short: "Set how long an operation may take, tries and all", example: "150", words: "transaction timeout", sysfs: true},
	{name: "health_sensitivity", value: "N", short: "Set what a failure takes from a health of 1000; 0 turns health and resends off", example: "100", words: "health sensitivity", sysfs: true},
	{name: "recovery_interval", value: "SECONDS", short: "Accepted, without effect, as in kernels since 2.14", example: "1", words: "recovery interval", sysfs: true},
	{name: "router_sensitivity", value: "PERCENT", short: "How healthy an interface of a gateway must be to count as alive", example: "50", words: "router sensitivity", failed: "cannot configure router health sensitivity: ", sysfs: true},
	{name: "avoid_asym_router_failure", value: "0|1", short: "Take a route as down while its gateway says that its interfaces beyond are, or use it", example: "0", off: []int{0, 1}, sysfs: true},
	{name: "alive_router_check_interval", value: "SECONDS", short: "Set the time between two checks of a gateway; 0: it is not checked", example: "30", sysfs: true},
	{name: "router_ping_timeout", value: "SECONDS", short: "Set how long a gateway may take to answer a check", example: "10", sysfs: true},
	{name: "response_tracking", value: "0|1|2|3", short: "Set which operations are tracked until their answer: neither, GETs (1), PUTs (2), both (3)", example: "3", whole: "Valid values are: 0, 1, 2, or 3"},
	{name: "recovery_limit", value: "SECONDS", short: "Set how long after its last message an interface is pinged that is not well; 0: without end", example: "3600", whole: "Must be greater than or equal to 0"},
	{name: "max_recovery_ping_interval", value: "SECONDS", short: "Set the longest time between such pings", example: "900", words: "maximum recovery interval", item: "maximum recovery ping interval", whole: "must be strictly positive"},
}

func setCommand(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "set", Short: "Change settings of the running node"}
	for _, s := range settables {
		c.AddCommand(s.command(g))
	}
	return c
}

func (s settable) command(g *globals) *cobra.Command {
	want := "a number"
	if s.off != nil {
		want = "0 or 1"
	}
	return &cobra.Command{
		Use: s.name + " " + s.value, Short: s.short, Long: s.long,
		Example: "  lnetctl set " + s.name + " " + s.example,
		Args:    cli.Args(want),
		RunE: func(c *cobra.Command, args []string) error {
			value, err := s.parse(args[0])
			if err != nil {
				return s.unreadable(err)
			}
			err = node.OpSet.Call(c.Context(), g.client(), node.Setting{Name: s.name, Value: value})
			return s.refused(err)
		},
	}
}

// parse parses a value. The node checks whether the value is in range.
func (s settable) parse(text string) (int, error) {
	value, err := strconv.ParseInt(text, 0, 64)
	switch {
	case err != nil && s.off != nil:
		return 0, cli.Usagef("%s is 0 or 1, not %q", s.name, text)
	case err != nil || value > math.MaxInt32 || value < math.MinInt32:
		return 0, cli.Usagef("%s is a number, not %q", s.name, text)
	case s.name == "routing" && value != 0 && value != 1:
		return 0, cli.Usagef("routing is 0 or 1, not %d", value)
	}
	return int(value), nil
}

// unreadable returns the error for a value that is no number.
func (s settable) unreadable(err error) error {
	descr := "cannot parse " + cmp.Or(s.words, s.name) + " value"
	if s.name == "routing" {
		descr += ".\n                 must be 0 for disable or 1 for enable"
	}
	return plainError("parser", "set", -1, descr, err)
}

// refused returns the error for a value that the node has refused.
func (s settable) refused(err error) error {
	item, errno := cmp.Or(s.item, s.name), errnoOf(err)
	switch failed := failingPlainly(err, "add", item, s.says()); {
	case failed == err:
		return err
	case s.whole != "" && errno == syscall.EINVAL:
		return plainError("add", item, -int(errno), fmt.Sprintf("%q", s.whole), err)
	case s.sysfs && errno == syscall.EINVAL:
		return plainError("add", item, -int(syscall.ENODATA), fmt.Sprintf("%q", s.says()+cli.Strerror(errno)), err)
	default:
		return failed
	}
}

// says returns the beginning of the text of a refusal.
func (s settable) says() string {
	return cmp.Or(s.failed, "cannot configure "+strings.ReplaceAll(s.name, "_", " ")+": ")
}
