package rmcast

// Handling returns the number of groups that were left and for whose handlers Close would wait.
func (a *Agent) Handling() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.handling)
}

// InFlight returns how many bytes of messages between members and managers are on their way.
func (a *Agent) InFlight() int { return a.outbox.InFlight() }
