package portals

// sharesOfInbox is the number of shares of an inbox: so many neighbours together can take all its buffers, if the
// inbox has at least as many.
const sharesOfInbox = 4

// share returns the number of messages from one neighbour that may be arriving at once: a quarter of all that may.
func (c *InboxConfig) share() int {
	return max((c.Buffers+c.uncounted())/sharesOfInbox, 1)
}

// uncounted returns how many buffers with arriving messages do not count as posted.
func (c *InboxConfig) uncounted() int {
	if c.HandleFirst {
		return 0
	}
	return min(maxArriving, maxArrivingBytes/c.Size)
}
