//go:build !linux

package socklnd

import "time"

// loanTimer does not exist here, and so there are no loans.
type loanTimer struct{}

func newLoanTimer() *loanTimer { return nil }

func (*loanTimer) start(time.Duration) {}
func (*loanTimer) stop()               {}
func (*loanTimer) wait() bool          { return false }
func (*loanTimer) close()              {}
