"""The RoCEv2 transport of a plan: `model` holds it all, a file each rate control's fields."""
