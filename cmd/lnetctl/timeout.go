package main

import (
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// timeoutValue is a flag: 500ms, 5s, or a number of seconds, which is the unit of
// the kernel's tool. Its zero value is "not given".
type timeoutValue struct{ value time.Duration }

func timeoutFlag(c *cobra.Command, name, usage string) *timeoutValue {
	t := new(timeoutValue)
	c.Flags().Var(t, name, usage)
	return t
}

func (t *timeoutValue) String() string {
	if t.value == 0 {
		return ""
	}
	return t.value.String()
}

func (t *timeoutValue) Type() string { return "TIME" }

func (t *timeoutValue) Set(s string) error {
	if seconds, err := strconv.ParseUint(s, 10, 31); err == nil {
		t.value = time.Duration(seconds) * time.Second
	} else if t.value, err = time.ParseDuration(s); err != nil {
		return errors.New("want a time such as 5s or 500ms, or a number of seconds")
	}
	if t.value <= 0 {
		return errors.New("want more than nothing")
	}
	return nil
}
