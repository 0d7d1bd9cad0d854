package portals

// AckEach makes the table post the ACK of each PUT at once.
func (t *Table) AckEach() { t.acksAtOnce = 1 }
