package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
)

// maxVerbosity is the highest level of detail of the kernel's tool.
const maxVerbosity = 4

// addVerbose adds the flag -v, which stands for level 1 unless a level follows.
func addVerbose(c *cobra.Command) *int {
	level := c.Flags().IntP("verbose", "v", 0, "more detail: -v, or a `LEVEL` up to 4 as in -v 2")
	c.Flags().Lookup("verbose").NoOptDefVal = "1"
	return level
}

// takeLevel finds the level in "-v 2", which arrives as an argument, and
// returns the other arguments.
func takeLevel(c *cobra.Command, level *int, args []string) (rest []string, err error) {
	for _, arg := range args {
		n, numErr := strconv.Atoi(arg)
		if numErr == nil && c.Flags().Changed("verbose") {
			*level = n
			continue
		}
		rest = append(rest, arg)
	}
	if *level < 0 {
		return nil, cli.Usagef("verbosity %d: want 0 to %d", *level, maxVerbosity)
	}
	*level = min(*level, maxVerbosity)
	return rest, nil
}

// takeOnlyLevel is takeLevel for verbs that have no other arguments.
func takeOnlyLevel(c *cobra.Command, level *int, args []string) error {
	rest, err := takeLevel(c, level, args)
	if err == nil {
		err = cli.Args()(c, rest)
	}
	return err
}

// sizeValue is a flag: a number of bytes, or one of KiB, MiB or GiB such as
// 64K, 4M, 1G.
type sizeValue uint64

func (s *sizeValue) String() string {
	n := uint64(*s)
	for _, u := range sizeUnits {
		if n > 0 && n%u.bytes == 0 {
			return strconv.FormatUint(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatUint(n, 10)
}

func (s *sizeValue) Type() string { return "BYTES" }

func (s *sizeValue) Set(text string) error {
	number, unit := text, uint64(1)
	for _, u := range sizeUnits {
		if cut, ok := strings.CutSuffix(strings.ToUpper(text), u.name); ok {
			number, unit = cut, u.bytes
		}
	}
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || n > math.MaxUint64/unit {
		return errors.New("want a number of bytes such as 4096, 64K or 4M")
	}
	*s = sizeValue(n * unit)
	return nil
}

var sizeUnits = []struct {
	name  string
	bytes uint64
}{{"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}}

// timeoutValue is a flag: 500ms, 5s, or a number of seconds, which is the unit of
// the kernel's tool. Its zero value is "not given".
type timeoutValue struct {
	value time.Duration
	none  bool // the option was not given, which is not the same as the value 0
}

func timeoutFlag(c *cobra.Command, name, letter, usage string) *timeoutValue {
	t := new(timeoutValue)
	c.Flags().VarP(t, name, letter, usage)
	return t
}

func (t *timeoutValue) String() string {
	if t.value == 0 {
		return ""
	}
	return t.value.String()
}

func (t *timeoutValue) Type() string { return "TIME" }

// parseTime parses a time with its unit, or a number of seconds.
func parseTime(s string) (time.Duration, error) {
	if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	return time.ParseDuration(s)
}

func (t *timeoutValue) Set(s string) (err error) {
	if t.value, err = parseTime(s); err != nil {
		return errors.New("want a time such as 5s or 500ms, or a number of seconds")
	}
	if t.value < 0 || t.value == 0 && !t.none {
		return errors.New("want more than nothing")
	}
	return nil
}
