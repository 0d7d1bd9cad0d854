package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completionTime bounds how long a completion waits for the daemon.
const completionTime = time.Second

// Offers maps names of arguments and of values of flags, as the help shows them, such as NID, to functions.
// Each function returns what shells offer for that argument or value, or nil if it cannot find out.
type Offers map[string]func(context.Context) []string

// CompleteLive lets shells complete the arguments and the values of flags of all verbs below c. They
// offer the values that exist at that moment, such as the NIDs of a running node. Arguments for
// which a verb has its own completion keep it.
func CompleteLive(c *cobra.Command, offers Offers) {
	for _, sub := range c.Commands() {
		CompleteLive(sub, offers)
	}
	if c.RunE == nil {
		return
	}
	if complete := offers.of(wordsOf(c.Use)); complete != nil && c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 {
		c.ValidArgsFunction = complete
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		if complete := offers.of([]string{strings.ToUpper(name)}); complete != nil {
			_ = c.RegisterFlagCompletionFunc(f.Name, complete) // an error means that the flag has a completion already, which it keeps
		}
	})
}

// of returns a function that completes an argument: the first one of words for which o has an offer. The
// result is nil if o has none for any of them.
func (o Offers) of(words []string) cobra.CompletionFunc {
	at := slices.IndexFunc(words, func(word string) bool { return o[word] != nil })
	if at < 0 {
		return nil
	}
	offer := o[words[at]]
	return func(c *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list := slices.DeleteFunc(offer(ctx), func(word string) bool { return slices.Contains(given, word) })
		slices.Sort(list)
		return slices.Compact(list), cobra.ShellCompDirectiveNoFileComp
	}
}

// wordsOf returns the names of the arguments in a usage line, without the arguments of flags.
func wordsOf(use string) (words []string) {
	flag := false
	for text := range strings.FieldsSeq(use) {
		word := strings.Trim(strings.TrimSuffix(text, "..."), "[]{}()|")
		if !flag && word != "" {
			words = append(words, strings.TrimSuffix(word, "..."))
		}
		flag = strings.HasPrefix(word, "-") && !strings.HasSuffix(text, "]") && !strings.HasSuffix(text, "}")
	}
	return words
}
