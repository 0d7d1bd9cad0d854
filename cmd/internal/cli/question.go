package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// Question is a verb that asks, and prints the answer.
type Question[T any] struct {
	Use, Short, Long, Example string
	Args                      cobra.PositionalArgs
	Ask                       func(ctx context.Context, args []string) (T, error)
	Print                     func(w io.Writer, answer T) error // nil: as YAML
}

// Command returns the verb, which prints JSON if that is asked for when it runs.
func (q Question[T]) Command(asJSON *bool) *cobra.Command {
	return &cobra.Command{
		Use: q.Use, Short: q.Short, Long: q.Long, Example: q.Example, Args: q.Args,
		RunE: func(c *cobra.Command, args []string) error {
			answer, err := q.Ask(c.Context(), args)
			if err != nil {
				return err
			}
			if *asJSON || q.Print == nil {
				return Print(c.OutOrStdout(), *asJSON, answer)
			}
			return q.Print(c.OutOrStdout(), answer)
		},
	}
}
