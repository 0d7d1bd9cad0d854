package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"ulnet/cmd/internal/cli"
	"ulnet/lnet/selftest/console"
)

// abandon stops the batch when run --wait ends while clients may still run tests. It returns the
// error why, to which it adds whether the batch is stopped. After an interrupt, the error
// "interrupted" replaces why.
func (w *waiter) abandon(c *cobra.Command, why error) error {
	if c.Context().Err() != nil {
		why = failf("interrupted")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), stopLimit)
	defer cancel()
	answers, err := w.g.stop(ctx, c, w.batch, false)
	return cmp.Or(printFailures(c.ErrOrStderr(), answers, "stop"), w.outcome(why, answers, err))
}

// outcome returns an error with the reason why, which adds whether the batch is stopped. The parameters
// answers and err are the result of stopping the batch: the last answers of its clients, or an error.
func (w *waiter) outcome(why error, answers []console.Answer, err error) error {
	code, text := codeOf(answers), fmt.Sprintf("batch %s is stopped", w.batch)
	if err != nil || code != cli.OK {
		text = fmt.Sprintf("batch %s may be running: stop it with 'lst stop %s'", w.batch, w.batch)
	}
	if err != nil {
		text += fmt.Sprintf(" (%v)", err)
	}
	f, ok := errors.AsType[*failure](why)
	if !ok {
		return fmt.Errorf("%w: %s", why, text)
	}
	again := *f
	if again.text != "" {
		text = again.text + ": " + text
	}
	again.text = text
	if again.code == localFail && code != cli.OK {
		again.code = code
	}
	return &again
}
