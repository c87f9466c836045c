"""Plans by which an operator adds servers to an ensemble and removes them, judged before they are carried out."""
