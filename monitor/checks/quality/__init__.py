"""Quality of predictions whose labels have arrived, by prediction time."""
