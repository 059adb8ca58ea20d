"""Random walks over the real plan, loop and moves, with a world that acts between plan and lock."""
