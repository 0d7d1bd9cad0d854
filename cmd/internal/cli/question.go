package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// Reads is the annotation of the verbs that a Question makes, for tests that call all of them.
const Reads = "reads"

// Question is a verb that reads something and prints it.
type Question[T any] struct {
	Use, Short, Long, Example string                                              // as in cobra.Command
	Args                      cobra.PositionalArgs                                // as in cobra.Command
	Ask                       func(ctx context.Context, args []string) (T, error) // gets the answer
	Print                     func(w io.Writer, answer T) error                   // prints the answer for people; nil: as YAML
}

// Command returns the verb. It prints JSON if *asJSON is set when it runs.
func (q Question[T]) Command(asJSON *bool) *cobra.Command {
	return &cobra.Command{
		Use: q.Use, Short: q.Short, Long: q.Long, Example: q.Example, Args: q.Args, Annotations: map[string]string{Reads: "yes"},
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
