"""Full GP regression: nothing approximated, solved by factorisation or by descent."""
