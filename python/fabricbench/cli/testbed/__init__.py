"""Commands about real hosts and labs: `agent`, `hosts`, `calibrate` and `lab`."""
